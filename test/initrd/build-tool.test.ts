import { describe, expect, it } from 'vitest';
import { runTool } from '../../initrd/build-tool.ts';

describe('a program of the build', () => {
  it('gives what it printed, unchanged, in the folder and with the environment it was given', async () => {
    expect(await runTool('sh', ['-c', 'pwd; echo $COLOR'], { cwd: '/', env: { COLOR: 'red' } })).toBe(
      '/\nred\n',
    );
  });

  it('fails as a build with its own last words', async () => {
    await expect(runTool('sh', ['-c', 'echo no such header >&2; exit 2'])).rejects.toMatchObject({
      code: 'KND_BUILD_FAILED',
      message: 'sh failed: no such header',
    });
  });

  it('names the Debian package of a program that is not installed', async () => {
    await expect(runTool('/nowhere/sbsign', [])).rejects.toMatchObject({
      code: 'KND_TOOL_MISSING',
      hint: 'Install the Debian package sbsigntool.',
    });
  });
});
