import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readShellScript } from '../../system/shell-script.ts';

const scripts = execFileSync('git', ['ls-files', '*.sh', 'initrd/init/init'], { encoding: 'utf8' })
  .trim()
  .split('\n');

describe.each(scripts)('%s', (script) => {
  it('is understood by a plain shell', () => {
    const { stderr } = spawnSync('sh', ['-n', script], { encoding: 'utf8' });
    expect(stderr).toBe('');
  });

  it('has nothing that shellcheck warns of', () => {
    const { stdout, error } = spawnSync('shellcheck', ['--severity=warning', script], { encoding: 'utf8' });
    expect({ stdout, error }).toEqual({ stdout: '', error: undefined });
  });
});

it('a script that goes into the executable is ASCII, because assets are read as latin1', () => {
  const path = 'system/first-boot/first-boot.sh';
  expect(readShellScript(path)).toBe(readFileSync(path, 'utf8'));
  expect(readShellScript(path)).toMatch(/^[\n\x20-\x7e]*$/);
});
