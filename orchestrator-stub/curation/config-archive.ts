import { type CpioEntry, encodeCpio } from '../../protocol/cpio.ts';

/** What a site tells its nodes: whom to trust and where everything is. */
export interface SiteConfig {
  /** PEM of the CAs of the site; the nodes trust them besides the public ones. */
  ca: string;
  /** KEY=VALUE as EMF's Micro-OS reads it (KEYCLOAK_URL, onboarding_stream_svc, …). */
  environment: Readonly<Record<string, string>>;
}

/** Where EMF's Micro-OS, HookOS and ours look for these files (emf.md 6.4). */
const ENVIRONMENT_FILES = ['etc/emf/env_config', 'etc/hook/env_config'];
const CA_FILES = ['etc/idp/ca.pem', 'etc/idp/server_cert.pem', 'etc/pki/ca-trust/source/anchors/ca.pem'];

/**
 * The config archive: a small cpio that a boot loader passes as a second initrd. The Micro-OS is the initramfs itself, so
 * these files simply are there when the agent starts. Same settings, same bytes.
 */
export function packConfigArchive({ ca, environment }: SiteConfig): Buffer {
  const lines = Object.entries(environment).map(([key, value]) => `${key}=${value}\n`);
  const files: [string, string][] = [
    ...ENVIRONMENT_FILES.map((path): [string, string] => [path, lines.join('')]),
    ...CA_FILES.map((path): [string, string] => [path, ca.endsWith('\n') ? ca : `${ca}\n`]),
  ];
  const folders = new Set(files.flatMap(([path]) => parentsOf(path)));
  const entries: CpioEntry[] = [
    ...[...folders].map((path): CpioEntry => ({ type: 'directory', path, mode: 0o755 })),
    ...files.map(
      ([path, text]): CpioEntry => ({ type: 'file', path, mode: 0o644, contents: Buffer.from(text) }),
    ),
  ];
  return encodeCpio(entries);
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
