import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FirstBootSettings, firstBootScript } from '../../../system/first-boot/first-boot-script.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'first-boot-'));
  program('cloud-init', 'echo status: done'); // that of this machine takes seconds
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string) => path.join(folder, name);

/** Puts a program before those of the machine. */
const program = (name: string, body: string) =>
  writeFileSync(at(name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });

/** Runs the script with every place it may touch moved into the folder of the test. */
function start(settings: FirstBootSettings) {
  const script = firstBootScript(settings)
    .replaceAll('/etc/kindling', at('etc'))
    .replaceAll('/sys/firmware/efi', at('efi'))
    .replaceAll('/dev/console', at('console'))
    .replaceAll('/var/log', at('log'));
  return spawnSync('sh', ['-c', script], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: `${folder}:/usr/bin:/bin` },
  });
}

const HOSTILE = [
  "it's",
  '$(touch hacked)',
  '`touch hacked`',
  "'; touch hacked; '",
  '"; touch hacked; "',
  'a\\"b\\',
  '$HOME $PATH',
  'two words\nand a line',
  '*',
  "url='' $& $1 $'",
];

describe('the first-boot script', () => {
  it.each(HOSTILE)('hands the address %j to curl as it is', (text) => {
    program('curl', `cat > '${at('input')}'`);
    expect(start({ url: text })).toMatchObject({ status: 0, stderr: '' });
    const [, sent = ''] = /^url = "(.*)"\n$/s.exec(readFileSync(at('input'), 'utf8')) ?? [];
    expect(sent.replaceAll(/\\(.)/g, '$1')).toBe(text);
    expect(() => readFileSync(at('hacked'))).toThrow();
  });

  it('reports a host name that would break JSON', () => {
    program('curl', `for word; do case $word in {*) printf '%s' "$word" > '${at('body')}';; esac; done`);
    program('uname', `printf '%s' 'a"b\\c $(touch hacked)'`);
    expect(start({ url: 'http://h/' }).status).toBe(0);
    expect(JSON.parse(readFileSync(at('body'), 'utf8'))).toMatchObject({
      hostname: 'abctouchhacked',
      cloudInit: 'done',
    });
    expect(() => readFileSync(at('hacked'))).toThrow();
  });

  it('notes below /etc that it has reported, and only then', () => {
    program('curl', 'exit 7');
    expect(start({ url: 'http://h/' }).status).toBe(1);
    expect(() => readFileSync(at('etc/first-boot-reported'))).toThrow();
    program('curl', 'exit 0');
    expect(start({ url: 'http://h/' }).status).toBe(0);
    expect(readFileSync(at('etc/first-boot-reported'), 'utf8')).toBe('');
  });

  it('tries again where nobody else would', () => {
    program('curl', `[ -e '${at('tried')}' ] || { : > '${at('tried')}'; exit 7; }`);
    program('sleep', `echo "$1" > '${at('pause')}'`);
    expect(start({ url: 'http://h/', retrySeconds: 10 }).status).toBe(0);
    expect(readFileSync(at('pause'), 'utf8')).toBe('10\n');
  });

  it('tells the orchestrator that the boot order is committed', () => {
    program('curl', `cat >> '${at('input')}'`);
    start({ url: 'http://h/k', commitsBootOrder: true, bootOrderUrl: 'http://h/k/boot-order' });
    expect(readFileSync(at('input'), 'utf8')).toBe('url = "http://h/k"\nurl = "http://h/k/boot-order"\n');
  });

  it.each([
    [undefined, 'none'],
    ['/no/such/file', 'failed'],
    ['/etc/passwd', 'success'],
  ])('from a stick it reports to the console, with K3s as it went (%s: %s)', (k3sDone, k3s) => {
    program('blkid', 'exit 2'); // the stick is gone
    start({ stickLabel: 'KINDLING', nodeId: 'n', ...(k3sDone ? { k3sDone } : {}) });
    const [, report = ''] = /^KINDLING-FIRST-BOOT (.*)\n$/.exec(readFileSync(at('console'), 'utf8')) ?? [];
    expect(JSON.parse(report)).toMatchObject({ k3s, kernel: expect.any(String) });
  });

  it('removes what it was told to remove', () => {
    for (const name of ['unit', 'link']) writeFileSync(at(name), '');
    expect(start({ remove: [at('unit'), at('link')] }).status).toBe(0);
    for (const name of ['unit', 'link']) expect(() => readFileSync(at(name))).toThrow();
  });
});
