import { ExecaError, execa } from 'execa';
import { KindlingError } from '../protocol/error.ts';

/** The programs a build starts on this machine, and the Debian package each comes from. */
const PACKAGE_OF: Record<string, string> = {
  'apt-cache': 'apt',
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
  gcc: 'gcc and libc6-dev',
  make: 'make',
  nm: 'binutils',
  openssl: 'openssl',
  sbsign: 'sbsigntool',
  strip: 'binutils',
};

/** Runs a program of the build to its end and gives what it printed, unchanged. */
export async function runTool(
  program: string,
  args: readonly string[],
  options: { cwd?: string } = {},
): Promise<string> {
  try {
    const { stdout } = await execa(program, args, {
      ...options,
      stripFinalNewline: false,
      maxBuffer: 2 ** 28,
    });
    return stdout;
  } catch (cause) {
    const failure = cause instanceof ExecaError ? cause : undefined;
    if (failure?.code === 'ENOENT' && program in PACKAGE_OF)
      throw new KindlingError('KND_TOOL_MISSING', `the build needs ${program}, which is not installed`, {
        hint: `Install the Debian package ${PACKAGE_OF[program]}.`,
      });
    const said = (failure?.stderr || failure?.message || String(cause))
      .trim()
      .split('\n')
      .slice(-5)
      .join(' / ');
    throw new KindlingError('KND_BUILD_FAILED', `${program} failed: ${said}`, { cause });
  }
}
