import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { resolvePackages, unpackPackage } from '../../../initrd/debian/packages.ts';
import { decodePayloadHeader, decodeStickKey } from '../../../protocol/stick.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import { buildStick } from '../../../standalone/usb/build-stick.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-build-stick-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CONFIG = `version: 1.0
operatingSystem:
  users: [{username: edge, password: c2VjcmV0c2VjcmV0}]
image: {file: disk.raw, artifacts: artifacts}
nodes: [{match: {serial: A1}, operatingSystem: {hostname: node-a}}]
`;
const IMAGE = Buffer.alloc(3_000_000, 'image');
writeFileSync(join(folder, 'disk.raw'), IMAGE);
mkdirSync(join(folder, 'artifacts/images'), { recursive: true });
writeFileSync(join(folder, 'artifacts/install.sh'), '#!/bin/sh\n');
writeFileSync(join(folder, 'artifacts/images/x.tar'), 'tar');

/** Everything real but the Micro-OS, which the QEMU tests have. */
async function build(target: string, config = CONFIG) {
  const [syslinux] = await resolvePackages(['syslinux']);
  if (!syslinux) throw new Error('apt gave no syslinux');
  const program = join(await unpackPackage(syslinux), 'usr/bin/syslinux');
  let commandLine = '';
  const summary = await buildStick({
    validation: validateConfig(config),
    configFile: join(folder, 'config.yaml'),
    target,
    createdBy: 'test',
    bootFiles: async (kernelArguments) => {
      commandLine = kernelArguments;
      return {
        files: [{ path: 'kindling/vmlinuz', source: Buffer.from('kernel') }],
        mbrCode: Buffer.alloc(440),
        syslinux: program,
      };
    },
    say: () => {},
  });
  return { summary, commandLine };
}

describe('an image file of a stick', () => {
  test('holds what was asked for, signed, and no password in clear', async () => {
    const target = join(folder, 'stick.img');
    const { summary, commandLine } = await build(target);
    expect(statSync(target).size).toBe(summary.totalBytes);
    const bytes = readFileSync(target);
    const table = await readPartitionTable(
      async (offset, length) => bytes.subarray(offset, offset + length),
      bytes.length,
    );
    const [boot, people, payload] = table?.partitions ?? [];
    expect((await execa('sfdisk', ['--verify', target])).stdout).toContain('No errors detected');
    expect(commandLine).toContain(`kindling.medium=${boot?.partUuid}`);

    const key = /kindling.stick_key=(\S+)/.exec(commandLine)?.[1] ?? '';
    const start = payload?.startBytes ?? 0;
    const manifest = decodePayloadHeader(bytes.subarray(start), decodeStickKey(key));
    expect(manifest.stickId).toBe(summary.stickId);
    expect(manifest.machines.map(({ match, hostname }) => [match, hostname])).toEqual([
      [{ serial: 'A1' }, 'node-a'],
      ['default', undefined],
    ]);
    expect(manifest.machines[0]?.artifacts).toEqual([
      { name: 'artifacts/images/x.tar', path: '/opt/images/x.tar', mode: '0644' },
      { name: 'artifacts/install.sh', path: '/opt/install.sh', mode: '0755' },
    ]);
    const image = manifest.files.find(({ name }) => name === manifest.image);
    const at = start + (image?.offset ?? 0);
    expect(bytes.subarray(at, at + IMAGE.length).equals(IMAGE)).toBe(true);

    expect(bytes.includes('c2VjcmV0')).toBe(false);
    const shown = await execa('mtype', ['-i', `${target}@@${people?.startBytes}`, '::config.yaml']);
    expect(shown.stdout).toContain('password: $6$');
  });

  test('is refused for a missing image, a wrong hash, a missing artifacts folder', async () => {
    const refused = (text: RegExp) =>
      expect.objectContaining({ code: 'KND_STICK_IMAGE', message: expect.stringMatching(text) });
    const target = join(folder, 'none.img');
    await expect(build(target, CONFIG.replace('disk.raw', 'no.raw'))).rejects.toThrow(refused(/no file/));
    const wrong = CONFIG.replace('file: disk.raw', `file: disk.raw, sha256: ${'a'.repeat(64)}`);
    await expect(build(target, wrong)).rejects.toThrow(refused(/the config says/));
    await expect(build(target, CONFIG.replace('artifacts: artifacts', 'artifacts: nothing'))).rejects.toThrow(
      refused(/cannot be read/),
    );
    expect(() => statSync(target)).toThrow();
  });
});

test('a block device that is no stick is refused, and not one byte of it is changed', async () => {
  const file = join(folder, 'disk-of-this-computer.img');
  const handle = await open(file, 'w');
  await handle.truncate(8e6);
  await handle.close();
  const { stdout: loop } = await execa('losetup', ['--find', '--show', file]);
  try {
    await expect(build(loop)).rejects.toThrow(
      expect.objectContaining({
        code: 'KND_STICK_TARGET_REFUSED',
        exitCode: 4,
        message: expect.stringContaining('not removable'),
      }),
    );
    expect(readFileSync(file).every((byte) => byte === 0)).toBe(true);
  } finally {
    await execa('losetup', ['--detach', loop]);
  }
});
