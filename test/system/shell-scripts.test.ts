import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

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
