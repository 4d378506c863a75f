import { waitForDeviceAddress } from './device-address.ts';
import type { BootUrls } from './dhcp/boot-file.ts';
import type { DhcpMode } from './dhcp/decide-reply.ts';
import { DHCP_ENTRANCE, type DhcpEvent, startDhcpServer } from './dhcp/dhcp-server.ts';
import type { Reservations } from './dhcp/reservation.ts';
import { startTftpServer, TFTP_ENTRANCE, type TftpEvent, type TftpFiles } from './tftp/tftp-server.ts';

export interface PxeOptions {
  /** The network device to serve on; its IPv4 address is the one clients are given. */
  device: string;
  mode: DhcpMode;
  reservations: Reservations;
  tftpFiles: TftpFiles;
  /** The script for iPXE and the folder of iPXE binaries over HTTP(S). */
  script: string;
  binaryBase: string;
  urls?: Pick<BootUrls, 'override' | 'foreignIpxeRunsScript'>;
  tftp?: { singlePort?: boolean; portRange?: { from: number; to: number } };
  /** Told what is missing while the device has no address. */
  say?: (text: string) => void;
  onDhcp?: (event: DhcpEvent) => void;
  onTftp?: (event: TftpEvent) => void;
  /** A fault of a server, which goes on. */
  onFailure?: (message: string) => void;
}

/** What `servePxe` opens to strangers. */
export const PXE_ENTRANCES = [TFTP_ENTRANCE, DHCP_ENTRANCE] as const;

/** Starts everything a machine needs until iPXE runs: DHCP or proxy DHCP, the PXE boot service, TFTP. */
export async function servePxe(options: PxeOptions): Promise<AsyncDisposable & { address: string }> {
  const address = await waitForDeviceAddress(options.device, { say: options.say ?? (() => {}) });
  await using started = new AsyncDisposableStack();
  const tftp = await startTftpServer({
    address,
    files: options.tftpFiles,
    ...options.tftp,
    ...(options.onTftp ? { onEvent: options.onTftp } : {}),
    ...(options.onFailure ? { onFailure: options.onFailure } : {}),
  });
  started.use(tftp);
  started.use(
    await startDhcpServer({
      device: options.device,
      site: {
        mode: options.mode,
        serverAddress: address,
        reservations: options.reservations,
        urls: {
          tftpAddress: address,
          tftpPort: tftp.port,
          binaryBase: options.binaryBase,
          script: options.script,
          ...options.urls,
        },
      },
      ...(options.onDhcp ? { onEvent: options.onDhcp } : {}),
    }),
  );
  const running = started.move();
  return { address, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
