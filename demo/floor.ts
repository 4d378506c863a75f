import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulateNodes } from '../cli/simulate.ts';
import { startStub } from '../orchestrator-stub/serve.ts';
import { KindlingError } from '../protocol/error.ts';
import { onEndSignal } from '../system/end-signal.ts';

export interface FloorOptions {
  nodes: number;
  /** Where to put a picture of the page, after which the demo ends. */
  picture: string | undefined;
}

const FAILING = 3;
const SPEED = 3;
const MOST_NODES = 500;

/** Checks the options of `npm run demo -- --floor`. */
export function readFloorOptions({ nodes = '200', picture }: Record<string, string | boolean>): FloorOptions {
  const count = Number(nodes);
  if (!Number.isInteger(count) || count < FAILING || count > MOST_NODES)
    throw new KindlingError(
      'KND_USAGE',
      `--floor: --nodes is a whole number from ${FAILING} to ${MOST_NODES}`,
    );
  return { nodes: count, picture: typeof picture === 'string' ? picture : undefined };
}

/** 1 an orchestrator of its own  2 simulated machines  3 the address of the page, until Ctrl-C, or a picture of it */
export async function runFloorDemo({ nodes, picture }: FloorOptions): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), 'kindling-floor-'));
  const end = new AbortController();
  using _signal = onEndSignal(() => end.abort(new Error('stopped')));
  try {
    await using started = new AsyncDisposableStack();
    const stub = started.adopt(
      await startStub({ stateFolder: state, host: '127.0.0.1', port: 0, plainPort: false }),
      (running) => running.close(),
    );
    const page = `${stub.urls.http}/#token=${stub.token}`;
    console.log(
      `a floor of ${nodes} simulated machines; ${FAILING} of them will fail. Its page:\n\n  ${page}\n`,
    );
    console.log(
      'The browser warns of the certificate: this orchestrator made its own. Ctrl-C ends everything.',
    );
    const fleet = {
      server: stub.urls.http,
      state,
      output: 'table' as const,
      nodes,
      failing: FAILING,
      speed: SPEED,
    };
    const simulated = simulateNodes(fleet, end.signal);
    started.defer(() => simulated);
    if (picture === undefined) return await simulated;
    const { takeFloorPicture } = await import('../setup/floor-picture.ts');
    try {
      await takeFloorPicture(page, picture, nodes, end.signal);
    } catch (thrown) {
      if (!end.signal.aborted) throw thrown;
    } finally {
      end.abort(new Error('there is nothing more to see'));
    }
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}
