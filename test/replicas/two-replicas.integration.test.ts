import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PostgresCluster } from '../../lab/postgres/cluster.ts';
import {
  type ActionResponse,
  ActionStatusRequest_StateType,
  WorkflowService,
} from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { ServedProcess } from '../orchestrator-stub/served-process.ts';
import { Watcher } from './watcher.ts';

const AGENT = '52:54:00:00:00:01';
const TEMPLATE = `version: "0.1"
name: three
global_timeout: 6000
tasks:
  - name: work
    worker: "{{ .device_1 }}"
    actions:
      - {name: one, image: example.org/a/one:1, timeout: 600}
      - {name: two, image: example.org/a/two:1, timeout: 600}
      - {name: three, image: example.org/a/three:1, timeout: 600}
`;

let folder: string;
let cluster: PostgresCluster;
let a: ServedProcess;
let b: ServedProcess;
const replicas: ServedProcess[] = [];
const clients: Client[] = [];
const mover = new Watcher();
const stayer = new Watcher();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-replicas-'));
  cluster = await PostgresCluster.start();
  const database = await cluster.freshSchema();
  a = await ServedProcess.start(join(folder, 'a'), { database });
  replicas.push(a);
  // Replicas are one site: the same keys, the same operator.
  await cp(join(folder, 'a'), join(folder, 'b'), { recursive: true });
  b = await ServedProcess.start(join(folder, 'b'), { database });
  replicas.push(b);
});
afterAll(async () => {
  mover.stop();
  stayer.stop();
  for (const client of clients) client.close();
  for (const replica of replicas) await replica.kill();
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function clientOf(replica: ServedProcess): Client {
  const client = new Client(`127.0.0.1:${replica.port}`, credentials.createInsecure());
  clients.push(client);
  return client;
}

test('an agent, a person and a watcher use two replicas as one, and one of them may die', async () => {
  const [clientOfA, clientOfB] = [clientOf(a), clientOf(b)];
  await mover.watch(a.port);
  await stayer.watch(b.port);

  // The agent waits at A, the person works at B.
  await b.api('PUT', '/api/v1/templates/three', { text: TEMPLATE });
  await b.api('POST', '/api/v1/nodes', { mac: AGENT });
  const ask = (client: Client) => callUnary(client, WorkflowService.method.getAction, { agentId: AGENT });
  const asked = ask(clientOfA);
  const { id } = (await b.api('POST', '/api/v1/workflows', { node: AGENT, template: 'three' })) as {
    id: string;
  };
  const one = await asked;
  expect(one).toMatchObject({ workflowId: id, name: 'one' });

  const report = (client: Client, action: ActionResponse, state: ActionStatusRequest_StateType) =>
    callUnary(client, WorkflowService.method.reportActionStatus, {
      workflowId: id,
      agentId: AGENT,
      taskId: action.taskId ?? '',
      actionId: action.actionId ?? '',
      actionName: action.name ?? '',
      actionState: state,
    });
  const { RUNNING, SUCCESS } = ActionStatusRequest_StateType;

  // Each word to the other replica than the one before.
  await report(clientOfA, one, RUNNING);
  await report(clientOfB, one, SUCCESS);
  const two = await ask(clientOfA);
  expect(two.name).toBe('two');
  await report(clientOfA, two, RUNNING);

  // A dies in the middle of an action. The agent and the watcher go on at B; what A had acknowledged is acknowledged again.
  await a.kill();
  await mover.watch(b.port);
  await report(clientOfB, two, RUNNING);
  await report(clientOfB, two, SUCCESS);
  await report(clientOfB, two, SUCCESS);
  const three = await ask(clientOfB);
  expect(three.name).toBe('three');
  await report(clientOfB, three, RUNNING);
  await report(clientOfB, three, SUCCESS);

  const workflow = (await b.api('GET', `/api/v1/workflows/${id}`)) as { state: string };
  expect(workflow.state).toBe('SUCCESS');
  const isOver = (watcher: Watcher) => watcher.events.some(({ data }) => data['state'] === 'SUCCESS');
  await expect.poll(() => isOver(mover) && isOver(stayer)).toBe(true);
  expect(mover.events).toEqual(stayer.events);
  const ids = stayer.events.map((event) => event.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(ids.toSorted((first, second) => first - second));
});
