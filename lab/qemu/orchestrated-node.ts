import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { packConfigArchive } from '../../site/config-archive.ts';
import { readIfThere } from '../../system/read-if-there.ts';
import type { KernelSpec } from './machine-spec.ts';
import { microOsKernel } from './micro-os.ts';

/** How a machine in QEMU's own network reaches this computer. */
const THIS_COMPUTER = '10.0.2.2';
const START_IT = `Start it with: npm run kindling -- serve --name ${THIS_COMPUTER}`;

/** What a machine needs to be a node of the orchestrator that uses a state folder of this computer. */
export interface OrchestratorAccess {
  url: string;
  /** PEM; absent where it speaks without TLS. */
  ca?: string | undefined;
}

/** Reads what `kindling serve` left in its state folder, and refuses what a machine could not connect to. */
export function readOrchestratorAccess(stateFolder: string): OrchestratorAccess {
  const kept = readIfThere(join(stateFolder, 'server-url'))?.trim();
  if (kept === undefined || !URL.canParse(kept)) {
    throw new KindlingError('KND_USAGE', `no orchestrator has used the state folder ${stateFolder} yet`, {
      hint: `${START_IT}; another folder is named with --state.`,
    });
  }
  const url = new URL(kept);
  url.hostname = THIS_COMPUTER;
  const isTls = url.protocol === 'https:';
  const certificate = isTls ? readIfThere(join(stateFolder, 'server.crt')) : undefined;
  if (isTls && !isGoodForMachines(certificate)) {
    throw new KindlingError(
      'KND_USAGE',
      `the orchestrator’s certificate is not good for ${THIS_COMPUTER}, by which virtual machines know this computer`,
      { hint: `${START_IT}.` },
    );
  }
  const ca = isTls ? readIfThere(join(stateFolder, 'site-ca.crt')) : undefined;
  return { url: url.origin, ca };
}

function isGoodForMachines(certificate: string | undefined): boolean {
  return certificate !== undefined && new X509Certificate(certificate).checkIP(THIS_COMPUTER) !== undefined;
}

/** The Micro-OS as a node of that orchestrator: it knows its address, and trusts its CA by a config archive as boot.ipxe loads one. */
export async function orchestratedKernel(
  { url, ca }: OrchestratorAccess,
  options: { folder: string; append: string; profile: 'minimal' | 'full' },
): Promise<KernelSpec> {
  const cmdline = `quiet kindling.server=${url} ${options.append}`.trim();
  const kernel = await microOsKernel({ profile: options.profile, cmdline });
  if (ca === undefined) return kernel;
  const archive = join(options.folder, 'config-archive.cpio');
  const edition = { version: 1, expires: '2100-01-01T00:00:00Z' };
  writeFileSync(archive, packConfigArchive({ ca, environment: {}, site: 'lab', edition }, []));
  return { ...kernel, initrd: [kernel.initrd ?? [], archive].flat() };
}
