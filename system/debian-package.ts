import { basename } from 'node:path';

/** The programs that Kindling starts on a Debian machine, and the package each comes from. */
const PACKAGE_OF: Record<string, string> = {
  'apt-cache': 'apt',
  'apt-get': 'apt',
  blockdev: 'util-linux',
  'dpkg-deb': 'dpkg',
  gcc: 'gcc and libc6-dev',
  make: 'make',
  mcopy: 'mtools',
  'mkfs.vfat': 'dosfstools',
  mmd: 'mtools',
  nm: 'binutils',
  openssl: 'openssl',
  sbsign: 'sbsigntool',
  strip: 'binutils',
  syslinux: 'syslinux',
};

/** What to install where a program (its name or its path) is missing, as far as it is known. */
export function debianPackageOf(program: string): string | undefined {
  const name = basename(program);
  return Object.hasOwn(PACKAGE_OF, name) ? PACKAGE_OF[name] : undefined;
}
