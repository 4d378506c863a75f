import { describe, expect, it } from 'vitest';
import { runInChild } from '../../../actions/process/run-in-child.ts';
import { secondsAfterReport, takeOffWaitdaemon } from '../../../actions/waitdaemon/waitdaemon.ts';

const WAITDAEMON = 'ghcr.io/jacobweinstock/waitdaemon:v0.1.1';
const wrapped = (variables: Record<string, string>, args: string[] = []) => ({
  image: WAITDAEMON,
  variables,
  args,
});

describe('what is wrapped in waitdaemon', () => {
  it('is the action its IMAGE names, with the variables that are its own', () => {
    const kexec = { IMAGE: 'quay.io/tinkerbell-actions/kexec:v1.0.0', FS_TYPE: 'ext4', WAIT_SECONDS: '10' };
    expect(takeOffWaitdaemon(wrapped(kexec))).toEqual({
      image: kexec.IMAGE,
      variables: { FS_TYPE: 'ext4' },
      args: [],
    });
    expect(secondsAfterReport(wrapped(kexec))).toBeUndefined();
  });

  it.each([[['reboot']], [['/sbin/reboot', '-f']]])(
    'is our reboot, if all the image is there for is %j',
    (args) => {
      const reboot = wrapped({ IMAGE: 'alpine', WAIT_SECONDS: '10' }, args);
      expect(takeOffWaitdaemon(reboot)).toEqual({ image: 'reboot', variables: {}, args: [] });
      expect(secondsAfterReport(reboot)).toBeUndefined();
    },
  );

  it.each([
    ['10', 10],
    ['0.5', 0.5],
    [undefined, 0],
    ['', 0],
    ['soon', 0],
    ['-5', 0],
    ['1e99', 3600],
  ])('runs after the report, if it is an image of others: WAIT_SECONDS=%j is %j s', (text, seconds) => {
    const variables = { IMAGE: 'registry.test/own:1', ...(text === undefined ? {} : { WAIT_SECONDS: text }) };
    expect(secondsAfterReport(wrapped(variables, ['reboot-later']))).toBe(seconds);
  });

  it('is nothing without an IMAGE, and says so instead of pulling the wrapper', async () => {
    for (const variables of [{}, { IMAGE: '' }]) {
      expect(secondsAfterReport(wrapped(variables))).toBeUndefined();
      const looked = () => Promise.reject(new Error('the machine was looked at'));
      const performed = runInChild({
        action: WAITDAEMON,
        variables,
        machine: { listDisks: looked, secureBoot: looked },
        signal: new AbortController().signal,
        emit: () => {},
      });
      await expect(performed).rejects.toMatchObject({
        code: 'KND_ACTION_VARIABLES',
        message: 'waitdaemon: IMAGE is required',
      });
    }
  });

  it('is no business of other images that have an IMAGE of their own', () => {
    const other = { image: 'registry.test/x:1', variables: { IMAGE: 'alpine' }, args: ['reboot'] };
    expect(takeOffWaitdaemon(other)).toBe(other);
    expect(secondsAfterReport(other)).toBeUndefined();
  });
});
