import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import type { RecoveryKey } from './recovery-key-file.ts';
import type { StickFolder } from './stick-folder.ts';

/**
 * Takes the recovery key of a disk as an orchestrator does, on this machine only, and keeps it on the stick. Only when it is there the action is
 * told so, and only then it encrypts.
 */
export async function serveRecoveryKeys(
  folder: StickFolder,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer(async (request, response) => {
    try {
      await folder.keepRecoveryKey(parseKey(await text(request)));
      response.writeHead(201).end();
    } catch (thrown) {
      response.writeHead(503).end(toErrorReport(thrown).message);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/recovery-keys`,
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function parseKey(body: string): RecoveryKey {
  const { keyId, recoveryKey, disk } = JSON.parse(body) as Partial<RecoveryKey>;
  if (typeof keyId !== 'string' || typeof recoveryKey !== 'string' || typeof disk !== 'object') {
    throw new KindlingError('KND_ESCROW_FAILED', 'this is no recovery key');
  }
  return { keyId, recoveryKey, disk };
}
