import { createHash, type KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signEfiProgram } from '../initrd/micro-os/sign-efi.ts';
import { buildSiteLoader } from '../initrd/micro-os/site-loader.ts';
import { replaceSections } from '../initrd/micro-os/uki.ts';
import { fixedKernelArguments, renderBootScript, renderChainScript } from '../ipxe/render-script.ts';
import { sealDocument } from '../protocol/signed-document.ts';
import { BOOT_DOMAIN, BOOT_LIST_NAME, type BootList } from '../protocol/site-files.ts';
import { publicArchiveKeys } from './archive-key.ts';
import { packConfigArchive } from './config-archive.ts';
import { signDetached } from './detached-signature.ts';
import { Editions } from './editions.ts';
import { keyEnrollmentFiles } from './key-enrollment.ts';
import { refuseSecrets } from './public-values.ts';
import { readRevocations, revokeProgram } from './revocations.ts';
import type { SecureBootKeys } from './secure-boot-keys.ts';
import { SignOnce } from './sign-once.ts';
import type { SiteKeys } from './site-keys.ts';

/** What one site's machines load before the agent runs, as plain data: it is kept, to build the same again. */
export interface BootFilesRequest {
  /** Where everything is put, to be served below /tink-stack/. */
  stackFolder: string;
  /** Where the TFTP server looks: iPXE and its first script. */
  tftpFolder: string;
  /** Address of /tink-stack/ as iPXE reaches it, without a slash at the end. HTTPS only if the firmware knows the CA. */
  stackUrl: string;
  /** The orchestrator as the agent reaches it; nodes get the site's CA if it speaks TLS. */
  serverUrl: string;
  /** Where kernel and initramfs are fetched from, if not from beside the script: a CDN, S3, a file server. */
  microOsUrl?: string | undefined;
  /** A folder with a built Micro-OS and one with iPXE. */
  microOsFolder: string;
  ipxeFolder: string;
  /** For the config archive: KEY=VALUE of env_config. */
  environment?: Record<string, string> | undefined;
  proxies?: { http?: string; https?: string; no?: string } | undefined;
  consoles?: string[] | undefined;
  additionalKernelArgs?: string[] | undefined;
}

/** How long a node takes an archive: longer than a machine lies on a shelf before it is installed. */
const ARCHIVE_DAYS = 400;
/** How long a mirror takes a list. `kindling serve` makes a new one in time; a mirror that gets no newer one is being cut off. */
const BOOT_LIST_DAYS = 90;

/** Names below /tink-stack/; those of EMF where it has them (docs/background/emf.md#boot-file-names). */
const NAMES = {
  kernel: 'vmlinuz-x86_64',
  initramfs: 'initramfs-x86_64',
  archive: 'config-archive.cpio',
  loader: 'loader-x86_64.efi',
  uki: 'kindling-x86_64.efi',
  script: 'boot.ipxe',
  firstScript: 'autoexec.ipxe',
} as const;

/**
 * Puts everything a machine loads before the agent runs where the servers of this site find it:
 * 1 iPXE, signed  2 kernel, not signed: the firmware would start it with any initramfs  3 config archive  4 script  5 loader and unified image, signed  6 what firmware enrolls
 * 7 signatures for iPXE's image trust  8 the signed list of it all, last, because mirrors go by it
 */
export async function prepareBootFiles(request: BootFilesRequest, keys: SiteKeys): Promise<void> {
  refuseSecrets(request);
  const { archive: archiveKeys } = keys;
  const stack = new Map<string, Buffer | string>();
  const once = new SignOnce(request.stackFolder, keys.signingNotes);
  const secureBoot = withoutSignedKernel(keys.secureBoot, once);
  const signed = (name: string, program: Buffer) =>
    once.sign(name, { bytes: program, signers: secureBoot.db }, () => signEfiProgram(program, secureBoot.db));

  const tftp = new Map<string, Buffer | string>([
    [NAMES.firstScript, renderChainScript(`${request.stackUrl}/${NAMES.script}`)],
  ]);
  for (const name of ['ipxe.efi', 'snponly.efi'])
    tftp.set(name, await signed(name, readFileSync(join(request.ipxeFolder, name))));
  tftp.set('undionly.kpxe', readFileSync(join(request.ipxeFolder, 'undionly.kpxe')));
  for (const [name, contents] of tftp) stack.set(name, contents);
  stack.set('signed_ipxe.efi', tftp.get('ipxe.efi') ?? '');

  const kernel = readFileSync(join(request.microOsFolder, NAMES.kernel));
  const initramfs = readFileSync(join(request.microOsFolder, NAMES.initramfs));
  const environment = { kindling_server: request.serverUrl, ...request.environment };
  const ca = request.serverUrl.startsWith('https:') ? keys.ca : undefined;
  const script = renderScript(request, archiveKeys);
  const commandLine = fixedKernelArguments(script);
  const editions = new Editions(keys.editions);
  // The archive is what a node judges a whole set by, so it is new when any part of the set is.
  const set = [
    ca,
    environment,
    commandLine,
    publicArchiveKeys(archiveKeys),
    sha256(kernel),
    sha256(initramfs),
  ];
  const edition = editions.of('config archive', set, ARCHIVE_DAYS);
  const archive = packConfigArchive({ ca, environment, site: secureBoot.owner, edition }, archiveKeys);
  stack
    .set(NAMES.kernel, kernel)
    .set(NAMES.initramfs, initramfs)
    .set(NAMES.archive, archive)
    .set(NAMES.script, script);

  const initrds = [
    { name: NAMES.initramfs, contents: initramfs },
    { name: NAMES.archive, contents: archive },
  ];
  const loader = await buildSiteLoader({ kernel, commandLine, initrds });
  const uki = replaceSections(readFileSync(join(request.microOsFolder, NAMES.uki)), {
    '.cmdline': Buffer.from(`${commandLine}\0`),
    '.initrd': Buffer.concat([padded(initramfs), archive]),
  });
  stack.set(NAMES.loader, await signed(NAMES.loader, loader));
  stack.set(NAMES.uki, await signed(NAMES.uki, uki));

  for (const [name, contents] of await keyEnrollmentFiles(secureBoot, keys.ca, once))
    stack.set(name, contents);
  await addDetachedSignatures(stack, keys.codeSigner);
  const files = filesOf(stack);
  const siteKeys = publicArchiveKeys(archiveKeys);
  const listEdition = editions.of('boot files', [files, siteKeys], BOOT_LIST_DAYS);
  const list: BootList = { ...listEdition, keys: siteKeys, files };
  editions.save();
  for (const [name, contents] of tftp) put(request.tftpFolder, name, contents);
  for (const [name, contents] of stack) put(request.stackFolder, name, contents);
  put(request.stackFolder, BOOT_LIST_NAME, sealDocument(BOOT_DOMAIN, list, archiveKeys));
  once.save();
}

/** Up to November 2026 the kernel was signed too. If that one lies published, it is revoked. */
function withoutSignedKernel(keys: SecureBootKeys, once: SignOnce): SecureBootKeys {
  const signedKernel = once.published(NAMES.kernel);
  if (!signedKernel) return keys;
  revokeProgram(keys.revokedFolder, NAMES.kernel, signedKernel);
  return { ...keys, revoked: readRevocations(keys.revokedFolder) };
}

function renderScript(request: BootFilesRequest, archiveKeys: readonly KeyObject[]): string {
  const microOs = request.microOsUrl ? `${request.microOsUrl.replace(/\/$/, '')}/` : '';
  const [siteKey = ''] = publicArchiveKeys(archiveKeys);
  return renderBootScript({
    kernelUrl: `${microOs}${NAMES.kernel}`,
    initramfsUrl: `${microOs}${NAMES.initramfs}`,
    configArchiveUrl: NAMES.archive,
    loaderUrl: NAMES.loader,
    grpcAuthority: '127.0.0.1:42113',
    ...(request.proxies?.http ? { httpProxy: request.proxies.http } : {}),
    ...(request.proxies?.https ? { httpsProxy: request.proxies.https } : {}),
    ...(request.proxies?.no ? { noProxy: request.proxies.no } : {}),
    ...(request.consoles ? { consoles: request.consoles } : {}),
    additionalKernelArgs: [
      `kindling.server=${request.serverUrl}`,
      `kindling.site_key=${siteKey}`,
      ...(request.additionalKernelArgs ?? []),
    ],
  });
}

/** An iPXE with image trust asks for "<file>.sig" before it believes a file. */
async function addDetachedSignatures(
  stack: Map<string, Buffer | string>,
  signer: SiteKeys['codeSigner'],
): Promise<void> {
  const verified = [NAMES.script, NAMES.kernel, NAMES.initramfs, NAMES.archive, NAMES.loader];
  for (const name of verified)
    stack.set(`${name}.sig`, await signDetached(Buffer.from(stack.get(name) ?? ''), signer));
}

function filesOf(stack: ReadonlyMap<string, Buffer | string>): BootList['files'] {
  return Object.fromEntries(
    [...stack].map(([name, contents]) => [
      name,
      { size: Buffer.byteLength(contents), sha256: sha256(contents) },
    ]),
  );
}

function sha256(contents: Buffer | string): string {
  return createHash('sha256').update(contents).digest('hex');
}

/** In one step: a machine that is just loading it gets the old file or the new one, also after a power cut. */
function put(folder: string, name: string, contents: Buffer | string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, contents, { flush: true });
  renameSync(`${path}.new`, path);
}

/** The kernel looks for the next archive at a multiple of 4 bytes. */
function padded(archive: Buffer): Buffer {
  return Buffer.concat([archive, Buffer.alloc((4 - (archive.length % 4)) % 4)]);
}
