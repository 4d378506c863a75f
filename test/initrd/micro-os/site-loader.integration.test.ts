import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { buildSiteLoader } from '../../../initrd/micro-os/site-loader.ts';
import { readUkiSections } from '../../../initrd/micro-os/uki.ts';

it('the loader holds kernel, command line and pins, and the same parts give the same bytes', async () => {
  const parts = {
    kernel: Buffer.alloc(9000, 'k'),
    commandLine: 'quiet kindling.site_key=x',
    initrds: [
      { name: 'initramfs-x86_64', contents: Buffer.from('initramfs') },
      { name: 'config-archive.cpio', contents: Buffer.from('archive') },
    ],
  };
  const loader = await buildSiteLoader(parts);
  expect((await buildSiteLoader(parts)).equals(loader)).toBe(true);
  const section = (name: string) => readUkiSections(loader).find((one) => one.name === name)?.contents;
  expect(section('.sbat')?.toString()).toMatch(/^sbat,1,.*\nkindling\.loader,1,/);
  expect(section('.linux')).toEqual(parts.kernel);
  expect(section('.cmdline')?.toString()).toBe('quiet kindling.site_key=x\0');
  expect(section('.text')?.length).toBeGreaterThan(1000);
  const pins = section('.pins') ?? Buffer.alloc(0);
  expect(pins.readBigUInt64LE()).toBe(2n);
  expect(pins.readBigUInt64LE(8)).toBe(9n);
  expect(pins.subarray(16, 48)).toEqual(createHash('sha256').update('initramfs').digest());
  expect(pins.toString('latin1', 72 + 40, 72 + 64)).toBe('config-archive.cpio'.padEnd(24, '\0'));
});
