import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { renderChainScript } from '../../ipxe/render-script.ts';
import { createHttpServer } from '../../net/server/http-server.ts';
import { listenPlain } from '../../net/server/listener.ts';
import { staticRoute } from '../../net/server/static-files.ts';
import { type KindlingError, toKindlingError } from '../../protocol/error.ts';
import { notifyReady } from '../../system/service-manager.ts';
import { waitForDeviceAddress } from '../device-address.ts';
import type { DhcpMode } from '../dhcp/decide-reply.ts';
import { indexReservations } from '../dhcp/reservations-file.ts';
import { servePxe } from '../serve-pxe.ts';
import { TftpFolder } from '../tftp/tftp-folder.ts';
import type { TftpFiles } from '../tftp/tftp-server.ts';
import type { Origin } from './fetch-file.ts';
import { currentFolder, type MirrorFolder, type UpdateResult, updateMirror } from './update-mirror.ts';

export interface MirrorOptions extends MirrorFolder {
  origin: Origin;
  /** The network device machines boot from. */
  device: string;
  mode: DhcpMode;
  httpPort: number;
  everyMs: number;
  onUpdate: (result: UpdateResult) => void;
  onFailure: (error: KindlingError) => void;
}

const FIRST_RETRY_MS = 5000;

/**
 * Serves the mirror's boot files over PXE and HTTP and keeps them up to date until aborted. Whatever the orchestrator does
 * in the meantime, machines get the last complete set; before there is one, nobody is answered.
 */
export async function serveMirror(options: MirrorOptions, signal: AbortSignal): Promise<void> {
  const { folder, device } = options;
  const address = await waitForDeviceAddress(device, { say: (text) => console.log(text), signal });
  const stackUrl = `http://${address}:${options.httpPort}/tink-stack`;
  // The site's own first script leads to the site; ours leads here. The rest is served as it was signed.
  const own = join(folder, 'own');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'autoexec.ipxe'), renderChainScript(`${stackUrl}/boot.ipxe`));

  await firstRelease(options, signal);
  await using servers = new AsyncDisposableStack();
  const http = createHttpServer({
    api: [],
    raw: [staticRoute('/tink-stack', [own, currentFolder(folder)])],
    authorize: async () => undefined,
    onFailure: () => {}, // a request that failed: the client has the answer
  });
  const listener = await listenPlain(
    { http, grpc: (socket) => socket.destroy() },
    { host: address, port: options.httpPort },
  );
  servers.defer(() => listener.close());
  servers.use(
    await servePxe({
      device,
      mode: options.mode,
      reservations: indexReservations([]),
      tftpFiles: firstOf(new TftpFolder(own), new TftpFolder(currentFolder(folder))),
      script: `${stackUrl}/boot.ipxe`,
      binaryBase: `${stackUrl}/`,
    }),
  );
  console.log(`machines boot from ${device} (${options.mode}) at ${stackUrl}`);
  notifyReady();
  while (await pause(options.everyMs, signal)) await tryUpdate(options, signal);
}

async function firstRelease(options: MirrorOptions, signal: AbortSignal): Promise<void> {
  await tryUpdate(options, signal);
  while (!existsSync(currentFolder(options.folder)) && (await pause(FIRST_RETRY_MS, signal)))
    await tryUpdate(options, signal);
}

async function tryUpdate(options: MirrorOptions, signal: AbortSignal): Promise<void> {
  try {
    options.onUpdate(await updateMirror(options, options.origin, signal));
  } catch (thrown) {
    if (!signal.aborted) options.onFailure(toKindlingError(thrown));
  }
}

/** False when it was aborted. */
function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return delay(milliseconds, true, { signal }).catch(() => false);
}

function firstOf(...folders: TftpFiles[]): TftpFiles {
  return {
    read: async (name) => {
      for (const folder of folders) {
        const contents = await folder.read(name);
        if (contents) return contents;
      }
      return undefined;
    },
  };
}
