import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import type { DhcpMode } from '../pxe/decide-reply.ts';
import type { Stub } from '../serve.ts';

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
}

/** The network-boot half of `kindling serve`: Micro-OS and iPXE into place, then DHCP, proxy DHCP and TFTP. */
export async function serveNetboot(stub: Stub, options: NetbootOptions): Promise<AsyncDisposable> {
  const [
    { servePxe, addressOfDevice },
    { TftpFolder },
    reservationsFile,
    { prepareBootFiles },
    { ensureMicroOs },
    { ensureIpxe },
  ] = await Promise.all([
    import('../pxe/serve-pxe.ts'),
    import('../pxe/tftp-folder.ts'),
    import('../pxe/reservations-file.ts'),
    import('../curation/boot-files.ts'),
    import('../../initrd/index.ts'),
    import('../../ipxe/debian-ipxe.ts'),
  ]);
  if (!stub.urls.plain) {
    throw new KindlingError(
      'KND_USAGE',
      'network boot needs a port without TLS: the firmware does not know the site’s CA',
      {
        hint: 'Add --plain-port 8080 (or --plain on an isolated network).',
      },
    );
  }
  const address = addressOfDevice(options.device);
  const stackUrl = `http://${address}:${new URL(stub.urls.plain).port}/tink-stack`;
  const server = new URL(stub.urls.http);
  const tftpFolder = join(options.stateFolder, 'tftp');
  prepareBootFiles({
    stackFolder: options.stackFolder,
    tftpFolder,
    stackUrl,
    serverUrl: `${server.protocol}//${address}:${server.port}`,
    ...(server.protocol === 'https:' ? { ca: stub.ca } : {}),
    microOs: options.microOs
      ? {
          kernel: join(options.microOs, 'vmlinuz-x86_64'),
          initramfs: join(options.microOs, 'initramfs-x86_64'),
        }
      : await ensureMicroOs('minimal', 'small'),
    ipxeFolder: await ensureIpxe(),
    consoles: ['tty0', 'ttyS0,115200'],
    additionalKernelArgs: options.kernelArgs,
  });
  return servePxe({
    device: options.device,
    mode: options.mode,
    reservations: options.reservations
      ? reservationsFile.readReservationsFile(options.reservations)
      : reservationsFile.indexReservations([]),
    tftpFiles: new TftpFolder(tftpFolder),
    script: `${stackUrl}/boot.ipxe`,
    binaryBase: `${stackUrl}/`,
    onDhcp: (event) => {
      if (event.answered) console.log(`dhcp ${event.mac}: ${event.reason}`);
    },
    onTftp: (event) => console.log(`tftp ${event.client} ${event.file}: ${event.outcome}`),
  });
}
