import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeError, KindlingError, toErrorReport } from '../../protocol/error.ts';

describe('KindlingError', () => {
  it('takes hint, retryable and exit class from the table', () => {
    const error = new KindlingError('KND_USAGE', 'no such command');
    expect(error.exitCode).toBe(2);
    expect(error.retryable).toBe(false);
    expect(error.hint).toContain('--help');
  });

  it('lists the causes from the outside in, without repeats', () => {
    const error = new KindlingError('KND_TIMEOUT', 'no answer', {
      cause: new Error('read', { cause: new Error('ECONNRESET') }),
    });
    expect(toErrorReport(error).causes).toEqual(['read', 'ECONNRESET']);
  });

  it('gives an error without a name the code KND_UNEXPECTED and keeps its message', () => {
    expect(toErrorReport(new TypeError('x is not a function'))).toMatchObject({
      code: 'KND_UNEXPECTED',
      message: 'x is not a function',
    });
  });

  it.each([
    [
      'there is no such file',
      () => readFileSync('/nonexistent/x'),
      '/nonexistent/x: there is no such file or folder',
    ],
    ['it is a folder', () => readFileSync('/'), 'a file (read): it is a folder, not a file'],
    [
      'a part of the path is a file',
      () => readFileSync('/etc/passwd/x'),
      '/etc/passwd/x: a part of the path is no folder',
    ],
    ['there is one already', () => mkdirSync('/proc'), '/proc: it exists already'],
  ])('a failure of the file system has a name and no call to report it: %s', (_, fail, message) => {
    expect(reportOf(fail)).toMatchObject({ code: 'KND_FILE_ACCESS', message });
  });

  it.each(['EACCES', 'EPERM'])('says of a file with %s that permission is denied', (code) => {
    const thrown = Object.assign(new Error(code), { code, syscall: 'open', path: '/etc/shadow' });
    expect(toErrorReport(thrown)).toMatchObject({
      code: 'KND_FILE_ACCESS',
      message: '/etc/shadow: permission denied',
    });
  });

  it('a program that is missing and a socket that cannot be reached are no files', () => {
    const missing = spawnSync('/nonexistent/program').error;
    expect(toErrorReport(missing).code).toBe('KND_UNEXPECTED');
    const socket = Object.assign(new Error('connect EACCES'), { code: 'EACCES', syscall: 'connect' });
    expect(toErrorReport(socket).code).toBe('KND_UNEXPECTED');
  });

  it('is described with code, reason and next step', () => {
    const text = describeError(
      new KindlingError('KND_TIMEOUT', 'no DHCP answer', {
        cause: new Error('no link'),
        hint: 'Plug in the cable.',
      }),
    );
    expect(text).toBe('KND_TIMEOUT: no DHCP answer\n  because: no link\n  next: Plug in the cable.');
  });
});

function reportOf(fail: () => unknown) {
  try {
    fail();
  } catch (thrown) {
    return toErrorReport(thrown);
  }
  throw new Error('nothing was thrown');
}
