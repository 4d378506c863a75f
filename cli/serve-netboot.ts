import { join } from 'node:path';
import type { DhcpMode } from '../netboot/dhcp/decide-reply.ts';
import type { Stub } from '../orchestrator-stub/serve.ts';
import { toKindlingError } from '../protocol/error.ts';
import { printable } from './table.ts';

const RENEWAL_MS = 86_400_000;

export interface NetbootOptions {
  device: string;
  mode: DhcpMode;
  reservations: string | undefined;
  stateFolder: string;
  /** The folder that is served below /tink-stack/. */
  stackFolder: string;
  kernelArgs: string[];
  /** A folder with a built Micro-OS; undefined: built here, for small downloads. */
  microOs: string | undefined;
  /** Where machines fetch kernel and initramfs from, if not from here. */
  microOsUrl: string | undefined;
  /** The firmware knows the site's CA: everything over HTTPS. */
  httpsBoot: boolean;
}

/** What can be wrong with the options, before anything is started. */
export async function checkNetboot({ device }: { device: string }): Promise<void> {
  const { mustExist } = await import('../netboot/device-address.ts');
  mustExist(device);
}

/** The network-boot half of `kindling serve`: Micro-OS and iPXE into place, then DHCP, proxy DHCP and TFTP. */
export async function serveNetboot(stub: Stub, options: NetbootOptions): Promise<AsyncDisposable> {
  const [
    { servePxe },
    { waitForDeviceAddress },
    { NetbootLog },
    { openAuthority },
    { TftpFolder },
    reservationsFile,
    { prepareBootFiles },
    { openSiteKeys },
    { keptRequest, saveRequest },
    { ensureMicroOs },
    { ensureIpxe },
  ] = await Promise.all([
    import('../netboot/serve-pxe.ts'),
    import('../netboot/device-address.ts'),
    import('../netboot/netboot-log.ts'),
    import('../site/authority.ts'),
    import('../netboot/tftp/tftp-folder.ts'),
    import('../netboot/dhcp/reservations-file.ts'),
    import('../site/boot-files.ts'),
    import('../site/site-keys.ts'),
    import('../site/kept-request.ts'),
    import('../initrd/index.ts'),
    import('../ipxe/debian-ipxe.ts'),
  ]);
  const log = new NetbootLog((line) => console.log(printable(line)));
  const server = new URL(stub.urls.http);
  const address = await waitForDeviceAddress(options.device, { say: (text) => log.say(text) });
  await openAuthority(options.stateFolder, [address]); // an address that came late belongs into the certificate too
  const boot = new URL(options.httpsBoot ? stub.urls.http : (stub.urls.plain ?? stub.urls.http));
  const stackUrl = `${boot.protocol}//${address}:${boot.port}/tink-stack`;
  const tftpFolder = join(options.stateFolder, 'tftp');
  const request = {
    stackFolder: options.stackFolder,
    tftpFolder,
    stackUrl,
    serverUrl: `${server.protocol}//${address}:${server.port}`,
    microOsUrl: options.microOsUrl,
    microOsFolder: options.microOs ?? (await ensureMicroOs('minimal', 'small')).folder,
    ipxeFolder: await ensureIpxe(),
    consoles: ['tty0', 'ttyS0,115200'],
    additionalKernelArgs: options.kernelArgs,
  };
  saveRequest(options.stateFolder, request);
  // "kindling build site" may have been told more since.
  const makeBootFiles = async () =>
    prepareBootFiles(keptRequest(options.stateFolder) ?? request, await openSiteKeys(options.stateFolder));
  await makeBootFiles();
  await using started = new AsyncDisposableStack();
  // Signed lists end some day: what is half way there is signed anew, and everything else stays as it is.
  const renewal = setInterval(() => {
    makeBootFiles().catch((thrown) => console.error(printable(toKindlingError(thrown).message)));
  }, RENEWAL_MS);
  started.defer(() => clearInterval(renewal));
  const pxe = await servePxe({
    device: options.device,
    mode: options.mode,
    reservations: options.reservations
      ? reservationsFile.readReservationsFile(options.reservations)
      : reservationsFile.indexReservations([]),
    tftpFiles: new TftpFolder(tftpFolder),
    script: `${stackUrl}/boot.ipxe`,
    binaryBase: `${stackUrl}/`,
    onDhcp: (event) => {
      log.dhcp(event);
      const { mac, answered, reason } = event;
      if (!answered) return;
      stub.announce({ type: 'netboot', nodeId: '', step: 'dhcp', client: mac, what: reason, bytes: 0 });
    },
    onFailure: (message) => console.error(printable(message)),
    onTftp: (event) => {
      log.tftp(event);
      const { client, file, outcome, bytes } = event;
      if (outcome !== 'complete') return;
      const address = client.replace(/:\d+$/, '');
      stub.announce({ type: 'netboot', nodeId: '', step: 'tftp', client: address, what: file, bytes });
    },
  });
  started.use(pxe);
  return started.move();
}
