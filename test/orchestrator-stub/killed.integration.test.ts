import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { State, WorkflowService } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { rounds, testRandom } from '../seeds/seeds.ts';
import { ServedProcess } from './served-process.ts';

const AGENTS = 4;
const KILLS = rounds(6);
const MOST_REPORTS = 12;
/** More than one agent alone could report. */
const ACTIONS = KILLS * (MOST_REPORTS + 1);

const TEMPLATE = `version: "0.1"
name: many
global_timeout: 6000
tasks:
  - name: work
    worker: "{{ .device_1 }}"
    actions:
${Array.from({ length: ACTIONS }, (_, index) => `      - {name: action-${index}, image: example.org/a/b:1, timeout: 600}`).join('\n')}
`;

let folder: string;
let server: ServedProcess;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-killed-'));
  server = await ServedProcess.start(folder);
});
afterEach(async () => {
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

test('a server that is killed at any write has everything it acknowledged', async () => {
  const random = testRandom(20_261_117);
  await server.api('PUT', '/api/v1/templates/many', { text: TEMPLATE });
  const agents: ReportingAgent[] = [];
  for (let index = 0; index < AGENTS; index++) {
    const mac = `52:54:00:00:00:0${index}`;
    await server.api('POST', '/api/v1/nodes', { mac });
    const { id } = (await server.api('POST', '/api/v1/workflows', { node: mac, template: 'many' })) as {
      id: string;
    };
    agents.push({ workflowId: id, acknowledged: 0 });
  }
  for (let kill = 1; kill <= KILLS; kill++) {
    // Somewhere in the next reports, and at any instant of one: four are under way at a time.
    const after = 1 + Math.floor(random() * MOST_REPORTS);
    await reportUntilKilled(agents, after, random() * 3);
    server = await ServedProcess.start(folder, { port: server.port });
    for (const { workflowId, acknowledged } of agents) {
      const { actions } = (await server.api('GET', `/api/v1/workflows/${workflowId}`)) as {
        actions: { state: string }[];
      };
      const stored = actions.findIndex(({ state }) => state !== 'SUCCESS');
      expect(stored, `kill ${kill}: ${workflowId}`).toBeGreaterThanOrEqual(acknowledged);
      // The one that was under way may be there too: the agent reports it again, and that is fine.
      expect(stored).toBeLessThanOrEqual(acknowledged + 1);
    }
  }
  expect(agents.every(({ acknowledged }) => acknowledged > 0)).toBe(true);
});

interface ReportingAgent {
  workflowId: string;
  /** How many of its actions the server said it knows to have succeeded. */
  acknowledged: number;
}

/** Every agent reports one action after the other; after a number of acknowledgments and a moment the server is killed. */
async function reportUntilKilled(
  agents: ReportingAgent[],
  acknowledgments: number,
  momentMs: number,
): Promise<void> {
  let left = acknowledgments;
  let killed: Promise<void> | undefined;
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  await Promise.all(
    agents.map(async (agent) => {
      for (;;) {
        try {
          await callUnary(client, WorkflowService.method.reportActionStatus, {
            workflowId: agent.workflowId,
            taskName: 'work',
            actionName: `action-${agent.acknowledged}`,
            actionStatus: State.SUCCESS,
          });
        } catch {
          return; // the server is gone
        }
        agent.acknowledged++;
        left--;
        if (left === 0) killed = server.killAfter(momentMs);
      }
    }),
  );
  client.close();
  await killed;
}
