import { KindlingError } from '../../protocol/error.ts';
import { runTool } from '../build-tool.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The sources of a suite as this machine's own apt reaches them, so that no host stands in our code. */
export async function debianSources(suite?: string): Promise<string[]> {
  const stdout = await runTool('apt-get', [
    'indextargets',
    '--format',
    '$(SITE) $(CODENAME)',
    'Created-By: Packages',
    'Component: main',
  ]);
  const sources = [...new Set(stdout.trim().split('\n'))].map((line) => line.split(' ') as [string, string]);
  const debian = sources.filter(([site]) => /\/debian(-security)?\/?$/.test(site));
  const main = debian.find(([site]) => /\/debian\/?$/.test(site));
  if (!main) {
    throw new KindlingError('KND_BUILD_PACKAGE', 'this machine’s apt names no Debian mirror', {
      hint: 'Run apt-get update once; apt must know the section main of a Debian suite.',
    });
  }
  const wanted = suite ? [[main[0], suite] as const] : debian;
  return wanted.map(([site, codename]) => `deb [signed-by=${KEYRING}] ${site} ${codename} main`);
}
