import { mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { execa } from 'execa';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { LUKS_HEADER_BYTES } from '../../../actions/encryption/luks.ts';
import { type Run, run } from '../../../system/run.ts';

/** How much of a header is written by the `cryptsetup` that encrypts nothing. */
export const HEADER_WRITTEN = 2 ** 20;

/**
 * This host's kernel has no device mapper, so `cryptsetup` is one that encrypts nothing: a loop device behind where the header would be. What is
 * tested is the moving, which does not care; the real thing is in encryption.qemu.test.ts.
 */
export const withoutCipher: Run = async (program, args, options) => {
  if (program !== 'cryptsetup') return run(program, args, options);
  const done = { stdout: '', stderr: '', exitCode: 0, durationMs: 0 };
  const mapped = (name: string) => `/dev/mapper/${name}`;
  const last = args.at(-1) ?? '';
  if (args[0] === 'luksFormat') {
    await using device = await BlockDevice.open(last);
    await device.zero(0, HEADER_WRITTEN);
  }
  if (args[0] === 'open') {
    const offset = ['--offset', String(LUKS_HEADER_BYTES)];
    const { stdout } = await execa('losetup', ['--find', '--show', ...offset, args.at(-2) ?? '']);
    await mkdir('/dev/mapper', { recursive: true });
    await symlink(stdout, mapped(last));
  }
  if (args[0] === 'close') {
    await execa('losetup', ['-d', await readlink(mapped(last))]);
    await rm(mapped(last));
  }
  return done;
};
