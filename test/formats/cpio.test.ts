import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type CpioEntry, decodeCpio, encodeCpio } from '../../formats/cpio.ts';
import fc from '../seeds/fast-check.ts';

const entries: CpioEntry[] = [
  { path: 'bin', mode: 0o755, type: 'directory' },
  { path: 'bin/sh', mode: 0o777, type: 'symlink', target: 'busybox' },
  { path: 'dev/console', mode: 0o600, type: 'character-device', major: 5, minor: 1 },
  { path: 'init', mode: 0o755, type: 'file', contents: Buffer.from('#!/bin/sh\n') },
  { path: 'ä', mode: 0o644, type: 'file', contents: Buffer.alloc(0) },
];

describe('a cpio archive', () => {
  it('is the same bytes whatever the order of its entries', () => {
    expect(encodeCpio([...entries].reverse())).toEqual(encodeCpio(entries));
  });

  it('gives back what was put in', () => {
    const path = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !/[/\0]|^\.+$/.test(text));
    const entry = fc.record({
      path,
      mode: fc.integer({ min: 0, max: 0o7777 }),
      type: fc.constant('file' as const),
      contents: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    });
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: (one) => one.path, maxLength: 8 }), (files) => {
        const sorted = [...files].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
        expect(decodeCpio(encodeCpio(files))).toEqual(sorted);
      }),
      { numRuns: 100 },
    );
    expect(decodeCpio(encodeCpio(entries))).toEqual(entries);
  });

  it('is read by cpio as it was meant', () => {
    const { stdout, stderr } = spawnSync('cpio', ['-tv', '--quiet'], {
      input: encodeCpio(entries),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^drwxr-xr-x +2 root +root .* bin$/);
    expect(lines[1]).toMatch(/^lrwxrwxrwx .* bin\/sh -> busybox$/);
    expect(lines[2]).toMatch(/^crw------- .* 5, +1 .* dev\/console$/);
    expect(lines[3]).toMatch(/^-rwxr-xr-x +1 root +root +10 Jan +1 +1970 init$/);
  });

  it('reads what cpio wrote', () => {
    const { stdout } = spawnSync('cpio', ['-o', '-H', 'newc', '--quiet'], {
      cwd: import.meta.dirname,
      input: 'cpio.test.ts\n',
    });
    expect(decodeCpio(stdout)).toMatchObject([{ path: 'cpio.test.ts', type: 'file' }]);
  });

  it.each(['/etc/passwd', '../x', 'a//b', 'a/./b', '', 'a/'])('refuses the path “%s”', (path) => {
    expect(() => encodeCpio([{ path, mode: 0o644, type: 'directory' }])).toThrow(/no path for an archive/);
  });

  it('refuses two entries of the same name, a cut-off archive and something else', () => {
    expect(() => encodeCpio([...entries, ...entries])).toThrow(/two entries/);
    expect(() => decodeCpio(encodeCpio(entries).subarray(0, -100))).toThrow(/cut off/);
    expect(() => decodeCpio(Buffer.alloc(200, 'x'))).toThrow(/no cpio header at byte 0/);
  });
});
