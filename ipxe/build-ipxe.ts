import { copyFile, cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runTool } from '../initrd/build-tool.ts';
import { KindlingError } from '../protocol/error.ts';
import { renderChainScript } from './render-script.ts';

export interface IpxeBuild {
  /** An iPXE source tree, as from git: it has src/Makefile. It is copied, not touched. */
  source: string;
  /** PEM of the site's CAs: trusted for HTTPS and for signatures of images. */
  ca: string;
  /** Address of boot.ipxe. */
  bootUrl: string;
  /** Where undionly.kpxe, ipxe.efi and snponly.efi are put. */
  output: string;
}

/** The flavors our servers hand out, as iPXE's Makefile names them. */
const TARGETS = ['bin-x86_64-efi/ipxe.efi', 'bin-x86_64-efi/snponly.efi', 'bin-x86_64-pcbios/undionly.kpxe'];

/**
 * What EMF's build switches on (docs/background/emf.md#ipxe-build), as far as our scripts and a technician at
 * the console need it.
 */
const ENABLED = [
  'DOWNLOAD_PROTO_HTTPS',
  'IMAGE_TRUST_CMD',
  'CERT_CMD',
  'CONSOLE_CMD',
  'DIGEST_CMD',
  'IPSTAT_CMD',
  'NEIGHBOUR_CMD',
  'NSLOOKUP_CMD',
  'NTP_CMD',
  'PARAM_CMD',
  'PCI_CMD',
  'PING_CMD',
  'POWEROFF_CMD',
  'REBOOT_CMD',
  'TIME_CMD',
  'VLAN_CMD',
];
/** EMF's: iPXE's own 15 s for each unplugged port are long on a machine with four. */
const LINK_WAIT_MS = 8000;

/** Builds iPXE with the site's CA and first script inside and image trust on: it runs nothing the site has not signed. */
export async function buildIpxe({ source, ca, bootUrl, output }: IpxeBuild): Promise<void> {
  await checkSource(source);
  const work = await mkdtemp(join(tmpdir(), 'kindling-ipxe-'));
  try {
    const tree = join(work, 'src');
    await cp(join(source, 'src'), tree, { recursive: true });
    const local = join(tree, 'config/local');
    await mkdir(local, { recursive: true });
    await writeFile(join(local, 'general.h'), generalHeader());
    const [certificates, script] = [join(work, 'site-ca.crt'), join(work, 'chain.ipxe')];
    await writeFile(certificates, ca);
    await writeFile(script, renderChainScript(bootUrl, { imageTrust: true }));
    await runTool('make', makeArguments({ certificates, script }), { cwd: tree });
    await mkdir(output, { recursive: true });
    for (const target of TARGETS) await copyFile(join(tree, target), join(output, basename(target)));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** iPXE reads config/local/general.h after its own defaults. */
function generalHeader(): string {
  const lines = ENABLED.map((name) => `#undef ${name}\n#define ${name}`);
  return `${[...lines, '#undef LINK_WAIT_TIMEOUT', `#define LINK_WAIT_TIMEOUT ${LINK_WAIT_MS}`].join('\n')}\n`;
}

/** CERT puts the certificates inside, TRUST makes them the only roots, EMBED is what runs first. */
function makeArguments({ certificates, script }: { certificates: string; script: string }): string[] {
  const inside = [`CERT=${certificates}`, `TRUST=${certificates}`, `EMBED=${script}`];
  return [`-j${availableParallelism()}`, ...TARGETS, ...inside];
}

async function checkSource(source: string): Promise<void> {
  for (const file of ['src/Makefile', 'src/config/general.h']) {
    const isThere = await stat(join(source, file)).then(
      (info) => info.isFile(),
      () => false,
    );
    if (!isThere)
      throw new KindlingError('KND_IPXE_SOURCE', `${source} is no iPXE source tree: it has no ${file}`);
  }
}
