import { startStub } from '../../orchestrator-stub/serve.ts';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { ON_LOOPBACK, sendFigures } from './loopback-stub.ts';
import type { StubReady } from './messages.ts';

const [stateFolder = '', dialect = 'tink-legacy'] = process.argv.slice(2);
const stub = await startStub({
  stateFolder,
  ...ON_LOOPBACK,
  dialects: [dialect as TinkDialect],
});

process.on('disconnect', () => process.exit()); // the benchmark that asked for the figures is gone
process.on('message', async (message) => {
  if (message === 'figures') {
    sendFigures();
  } else {
    await stub.close();
    process.disconnect?.();
  }
});
process.send?.({ kind: 'ready', url: stub.urls.http, ca: stub.ca, token: stub.token } satisfies StubReady);
