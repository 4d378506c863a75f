import { afterEach, beforeEach, expect, test } from 'vitest';
import { WorkflowService } from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { NODE, RunningStub } from './running-stub.ts';

const MAC = '52:54:00:00:00:01';
const TEMPLATE = `version: "0.1"
name: tink
global_timeout: 600
tasks:
  - name: work
    worker: {{ (index .Hardware.Interfaces 0).DHCP.MAC }}
    actions:
      - name: stream
        image: example.org/a/image2disk:1
        timeout: 60
        environment:
          DEST_DISK: {{ index .Hardware.Disks 0 }}
`;

let running: RunningStub;

beforeEach(async () => {
  running = await RunningStub.start({ holdMs: 100 });
  await running.api('PUT', '/api/v1/templates/tink', { json: { text: TEMPLATE } });
});

afterEach(() => running[Symbol.asyncDispose]());

const start = (json: Record<string, unknown>) =>
  running.api('POST', '/api/v1/workflows', { json: { template: 'tink', ...json } });
const firstAction = (agentId: string) =>
  callUnary(running.client(), WorkflowService.method.getAction, { agentId });

test('a workflow started by hand has the disks of the inventory and the card the node boots from', async () => {
  await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid, autoOnboard: true, name: 'till' } });
  await running.api('POST', '/api/v1/discovery', {
    json: {
      identity: { macs: [NODE.macId], nodeId: 'x', uuid: NODE.uuid },
      disks: [
        { kind: 'loop', path: '/dev/loop0' },
        { kind: 'disk', path: '/dev/vda' },
      ],
      nics: [
        { name: 'eth1', mac: '52:54:00:00:00:02', addresses: [] },
        { name: 'eth0', mac: NODE.macId, addresses: ['10.0.0.7/24'] },
      ],
    },
    token: null,
  });
  await running.knock();
  expect(await start({ node: 'till' })).toMatchObject({ status: 201 });
  expect(await firstAction(NODE.macId)).toMatchObject({ environment: ['DEST_DISK=/dev/vda'] });
});

test('a workflow started by rule has what the agent says of its machine', async () => {
  const rule = { name: 'acme', template: 'tink', rules: ['{"product":{"vendor":["Acme"]}}'] };
  await running.api('PATCH', '/api/v1/site', { json: { autoEnrollment: true, enrollmentRules: [rule] } });
  const action = await callUnary(running.client(), WorkflowService.method.getAction, {
    agentId: MAC,
    agentAttributes: {
      product: { vendor: 'Acme' },
      block: [{ name: 'nvme0n1', size: '477GB' }],
      network: [{ name: 'eth0', mac: MAC }],
    },
  });
  expect(action).toMatchObject({ environment: ['DEST_DISK=/dev/nvme0n1'] });
});

test('a Hardware object that is given takes the place of what is known, and a value that of both', async () => {
  await running.api('POST', '/api/v1/nodes', { json: { mac: MAC, name: 'till' } });
  const hardware = { spec: { disks: [{ device: '/dev/sdx' }], interfaces: [{ dhcp: { mac: MAC } }] } };
  expect(await start({ node: 'till', hardware })).toMatchObject({ status: 201 });
  expect(await firstAction(MAC)).toMatchObject({ environment: ['DEST_DISK=/dev/sdx'] });
  const Hardware = { Disks: ['/dev/sdy'], Interfaces: [{ DHCP: { MAC } }] };
  expect(await start({ node: 'till', variables: { Hardware } })).toMatchObject({ status: 201 });
  const wrong = await start({ node: 'till', hardware: { spec: { interfaces: 'eth0' } } });
  expect(wrong).toMatchObject({ status: 400, body: { code: 'KND_HARDWARE_INVALID' } });
});
