import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderBootScript, renderChainScript } from '../../ipxe/render-script.ts';
import { packConfigArchive } from './config-archive.ts';

export interface BootFilesRequest {
  /** Where kernel, initramfs, script and config archive are put, to be served below /tink-stack/. */
  stackFolder: string;
  /** Where the TFTP server looks: iPXE and its first script. */
  tftpFolder: string;
  /** Address of /tink-stack/ as iPXE reaches it, without a slash at the end. Plain HTTP, unless the firmware knows the CA. */
  stackUrl: string;
  /** The orchestrator as the agent reaches it. */
  serverUrl: string;
  /** PEM of the site's CA; absent where the orchestrator speaks without TLS. */
  ca?: string;
  microOs: { kernel: string; initramfs: string };
  ipxeFolder: string;
  consoles?: string[];
  additionalKernelArgs?: string[];
}

const IPXE_FILES = ['undionly.kpxe', 'ipxe.efi', 'snponly.efi'];

/** Puts everything a machine loads before the agent runs where the servers of this site find it. */
export function prepareBootFiles(request: BootFilesRequest): void {
  const { stackFolder, tftpFolder, stackUrl } = request;
  for (const folder of [stackFolder, tftpFolder]) mkdirSync(folder, { recursive: true });
  const chain = renderChainScript(`${stackUrl}/boot.ipxe`);
  for (const folder of [tftpFolder, stackFolder]) {
    for (const name of IPXE_FILES) copyFileSync(join(request.ipxeFolder, name), join(folder, name));
    writeFileSync(join(folder, 'autoexec.ipxe'), chain);
  }
  copyFileSync(request.microOs.kernel, join(stackFolder, 'vmlinuz-x86_64'));
  copyFileSync(request.microOs.initramfs, join(stackFolder, 'initramfs-x86_64'));

  const archive = join(stackFolder, 'config-archive.cpio');
  if (request.ca === undefined) rmSync(archive, { force: true });
  else writeFileSync(archive, packConfigArchive({ ca: request.ca, environment: {} }));
  writeFileSync(
    join(stackFolder, 'boot.ipxe'),
    renderBootScript({
      kernelUrl: `${stackUrl}/vmlinuz-x86_64`,
      initramfsUrl: `${stackUrl}/initramfs-x86_64`,
      ...(request.ca === undefined ? {} : { configArchiveUrl: `${stackUrl}/config-archive.cpio` }),
      grpcAuthority: '127.0.0.1:42113',
      ...(request.consoles ? { consoles: request.consoles } : {}),
      additionalKernelArgs: [`kindling.server=${request.serverUrl}`, ...(request.additionalKernelArgs ?? [])],
    }),
  );
}
