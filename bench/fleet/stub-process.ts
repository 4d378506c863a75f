import { startStub } from '../../orchestrator-stub/serve.ts';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import type { StubFigures, StubReady } from './messages.ts';

const [stateFolder = '', dialect = 'tink-legacy'] = process.argv.slice(2);
const stub = await startStub({
  stateFolder,
  host: '127.0.0.1',
  port: 0,
  plainPort: false,
  names: ['localhost'],
  dialects: [dialect as TinkDialect],
});

process.on('disconnect', () => process.exit()); // whoever asked for the figures is gone
process.on('message', async (message) => {
  if (message === 'figures') {
    const { user, system } = process.cpuUsage();
    const rssMb = Math.round(process.memoryUsage.rss() / 2 ** 20);
    process.send?.({ kind: 'figures', rssMb, cpuSeconds: (user + system) / 1e6 } satisfies StubFigures);
  } else {
    await stub.close();
    process.disconnect?.();
  }
});
process.send?.({ kind: 'ready', url: stub.urls.http, ca: stub.ca, token: stub.token } satisfies StubReady);
