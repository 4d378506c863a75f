import { describe, expect, it } from 'vitest';
import { secureEraseAta } from '../../../actions/erase/ata-security.ts';
import { unlockOurs } from '../../../actions/resources/ata-password.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import type { Run } from '../../../system/run.ts';

const ata = { supported: true, enhanced: false, frozen: false, locked: false, enabled: false };

/** A disk with the ATA security feature set, as hdparm shows it: what the disk refuses ends with 0 all the same. */
function ataDisk(options: { password?: string; refusesErase?: boolean; isCanceled?: boolean } = {}) {
  const state = { password: options.password, isLocked: options.password !== undefined, isErased: false };
  const commands: string[] = [];
  const warnings: string[] = [];
  const cancel = new AbortController();
  const run: Run = async (_, args, { signal = cancel.signal } = {}) => {
    // As the real one: without a signal of its own a program ends with the action.
    signal.throwIfAborted();
    const answer = (stdout = '') => ({ stdout, stderr: '', exitCode: 0, durationMs: 1 });
    const line = (holds: boolean, word: string) => `\t${holds ? '' : 'not'}\t${word}\n`;
    if (args[0] === '-I')
      return answer(
        `Security: \n${line(state.password !== undefined, 'enabled')}${line(state.isLocked, 'locked')}`,
      );
    const [, , command = '', given] = args;
    commands.push(command);
    if (command === '--security-set-pass') state.password = given;
    if (given !== state.password) return answer();
    if (command === '--security-unlock') state.isLocked = false;
    if (command.startsWith('--security-erase')) {
      if (options.isCanceled) cancel.abort();
      signal.throwIfAborted();
      if (options.refusesErase) return answer();
      state.isErased = true;
      state.password = undefined;
    }
    if (command === '--security-disable') state.password = undefined;
    return answer();
  };
  const log = (_: string, message: string) => void warnings.push(message);
  return { state, commands, warnings, context: { run, log, resources: new Resources() } };
}

describe('ATA secure erase', () => {
  it('sets a password, erases by the best way the disk has, and leaves none', async () => {
    const { context, state, commands, warnings } = ataDisk();
    await secureEraseAta('/dev/sda', { ...ata, enhanced: true }, context);
    expect(commands).toEqual(['--security-set-pass', '--security-erase-enhanced']);
    expect(state).toMatchObject({ password: undefined, isErased: true });
    expect(warnings).toEqual([]);
  });

  it('that is canceled in the middle does not leave the disk with a password', async () => {
    const { context, state } = ataDisk({ isCanceled: true });
    await expect(secureEraseAta('/dev/sda', ata, context)).rejects.toThrow();
    expect(state).toMatchObject({ password: undefined, isErased: false });
  });

  it('that the disk refuses is an error, though hdparm says nothing', async () => {
    const { context, state } = ataDisk({ refusesErase: true });
    await expect(secureEraseAta('/dev/sda', ata, context)).rejects.toMatchObject({
      code: 'KND_ERASE_INCOMPLETE',
    });
    expect(state).toMatchObject({ password: undefined });
  });

  it('opens a disk that a power cut left with our password, and no other', async () => {
    expect(await unlockOurs('/dev/sda', ataDisk({ password: 'kindling' }).context.run)).toBe(true);
    expect(await unlockOurs('/dev/sda', ataDisk({ password: 'another' }).context.run)).toBe(false);
  });
});
