import type { StubOptions } from '../../orchestrator-stub/serve.ts';
import type { StubFigures } from './messages.ts';

/** How a benchmark's orchestrator is reached: over TLS on this machine, at a port that is free. */
export const ON_LOOPBACK = {
  host: '127.0.0.1',
  port: 0,
  plainPort: false,
  names: ['localhost'],
} satisfies Partial<StubOptions>;

/** What this process has taken so far, for the benchmark that started it. */
export function sendFigures(): void {
  const { user, system } = process.cpuUsage();
  const rssMb = Math.round(process.memoryUsage.rss() / 2 ** 20);
  process.send?.({ kind: 'figures', rssMb, cpuSeconds: (user + system) / 1e6 } satisfies StubFigures);
}
