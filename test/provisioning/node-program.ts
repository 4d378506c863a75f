// A node in a process of its own, so that it can live in a network namespace: the real agent, and the real actions on one disk.
// argv[2]: NodeSetup as JSON. Every line of its log on stdout.
import { createServer } from 'node:http';
import { createExecutor, type Executor } from '../../agent/workflow/executor.ts';
import { removeFolder, startTestAgent } from '../wire/reference/test-agent.ts';

export interface NodeSetup {
  server: string;
  number: number;
  address: string;
  /** The disk it may write to. */
  disk: string;
  /** Writes nothing, but says that it has all of the image with this root, and serves noise. */
  liesAbout?: string;
}

const LIAR_PORT = 7070;
const setup = JSON.parse(process.argv[2] ?? '{}') as NodeSetup;
const two = String(setup.number).padStart(2, '0');
const serial = `NODE00${two}`;
const mac = `52:54:00:77:00:${two}`;
const agent = startTestAgent({
  kernel: `kindling.server=${setup.server}`,
  flags: { 'worker-id': mac },
  identity: {
    uuid: `6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4${two}`,
    serial,
    macs: [mac],
    bootMac: mac,
    evidence: [{ field: 'serial', value: serial, score: 80, reason: 'as found' }],
  },
  options: {
    executor: setup.liesAbout
      ? lying(setup.liesAbout)
      : createExecutor((environment) => ({ ...environment, DEST_DISK: setup.disk })),
    onHumanLine: (line) => process.stdout.write(`${line}\n`),
  },
});
await agent.ended;
removeFolder(agent);
process.stdout.write('the end\n');

function lying(root: string): Executor {
  return {
    mayRunAgain: () => true,
    async execute({ environment }) {
      createServer((request, response) => {
        response.end(request.url?.endsWith('/have') ? Buffer.alloc(64, 0xff) : 'this is not a chunk');
      }).listen(LIAR_PORT, setup.address);
      const { promise: never } = Promise.withResolvers<never>();
      const announce = async () => {
        const body = JSON.stringify({ root, address: setup.address, port: LIAR_PORT });
        const { status } = await fetch(environment['KINDLING_NEIGHBOURS_URL'] ?? '', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        process.stdout.write(`announced ${status}\n`);
      };
      await announce();
      setInterval(announce, 1000);
      return never;
    },
  };
}
