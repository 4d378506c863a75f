import { describe, expect, it } from 'vitest';
import { secureEraseAta, unlockOurs } from '../../../actions/erase/ata-security.ts';
import type { Run } from '../../../agent/system/run.ts';

const ata = { supported: true, enhanced: false, frozen: false, locked: false, enabled: false };

/** A disk with the ATA security feature set, as hdparm sees it. */
function ataDisk(password?: string) {
  const state = { password, isErased: false };
  const commands: string[] = [];
  const cancel = new AbortController();
  const run: Run = async (_, args, options = {}) => {
    const [, , command = '', given] = args;
    // As the real one: without a signal of its own a program ends with the action.
    (options.signal ?? cancel.signal).throwIfAborted();
    commands.push(command);
    if (command === '--security-set-pass') state.password = given;
    else if (given !== state.password) throw new Error('hdparm: Input/output error');
    if (command.startsWith('--security-erase')) {
      if (commands.includes('cancel')) cancel.abort();
      (options.signal ?? cancel.signal).throwIfAborted();
      state.isErased = true;
      state.password = undefined;
    }
    if (command === '--security-disable') state.password = undefined;
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  return { state, commands, run };
}

describe('ATA secure erase', () => {
  it('sets a password, erases by the best way the disk has, and leaves none', async () => {
    const { run, state, commands } = ataDisk();
    await secureEraseAta({ path: '/dev/sda' }, { ...ata, enhanced: true }, run);
    expect(commands).toContain('--security-erase-enhanced');
    expect(state).toEqual({ password: undefined, isErased: true });
  });

  it('that is cancelled in the middle does not leave the disk with a password', async () => {
    const { run, state, commands } = ataDisk();
    commands.push('cancel');
    await expect(secureEraseAta({ path: '/dev/sda' }, ata, run)).rejects.toThrow();
    expect(state).toEqual({ password: undefined, isErased: false });
  });

  it('opens a disk that a power cut left with our password, and no other', async () => {
    expect(await unlockOurs({ path: '/dev/sda' }, ataDisk('kindling').run)).toBe(true);
    expect(await unlockOurs({ path: '/dev/sda' }, ataDisk('somebody else’s').run)).toBe(false);
  });
});
