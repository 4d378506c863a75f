import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTftpServer } from '../../netboot/tftp/tftp-server.ts';
import { startStub } from '../../orchestrator-stub/serve.ts';
import { keepRunning } from '../../system/keep-running.ts';
import { ON_LOOPBACK, sendFigures } from '../fleet/loopback-stub.ts';
import type { SiegeReady } from './messages.ts';

// What `kindling serve --pxe --syslog` opens to strangers, in one process as it is there; without DHCP, which needs a device.
const [stateFolder = ''] = process.argv.slice(2);
const stack = join(stateFolder, 'tink-stack');
mkdirSync(stack, { recursive: true });
writeFileSync(join(stack, 'initramfs-x86_64'), Buffer.alloc(64 * 2 ** 20));
keepRunning((thrown) => console.error(thrown));
const stub = await startStub({
  stateFolder,
  ...ON_LOOPBACK,
  dialects: ['tink-legacy'],
  syslogPort: 0,
});
const loader = Buffer.alloc(2 ** 20, 7);
const tftp = await startTftpServer({
  address: '127.0.0.1',
  port: 0,
  files: { read: async (name) => (name === 'ipxe.efi' ? loader : undefined) },
});

process.on('disconnect', () => process.exit()); // the benchmark that asked for the figures is gone
process.on('message', sendFigures);
process.send?.({
  kind: 'ready',
  url: stub.urls.http,
  ca: stub.ca,
  token: stub.token,
  syslogPort: stub.syslogPort ?? 0,
  tftpPort: tftp.port,
} satisfies SiegeReady);
