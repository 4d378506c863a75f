import { expect, test } from 'vitest';
import { exportSite, objectsAsYaml } from '../../../cli/site-files/export.ts';
import { readSiteFile } from '../../../cli/site-files/site-object.ts';
import { type CurrentSite, planChanges } from '../../../cli/site-files/site-plan.ts';
import type { NodeView } from '../../../orchestrator-stub/http/api/node-schemas.ts';
import { ProfileSchema } from '../../../orchestrator-stub/nodes/profile.ts';
import { SiteSettingsSchema } from '../../../orchestrator-stub/settings/site-settings.ts';

const status = { text: '', indicator: 'IDLE', at: '2026-01-01T00:00:00Z' } as const;
const node = (change: Partial<NodeView>): NodeView => ({
  id: 'host-00000001',
  name: 'till-7',
  status: '',
  isRegistered: true,
  uuid: null,
  serial: 'SAID-BY-NODE',
  mac: '52:54:00:12:34:56',
  registeredAs: { uuid: null, serial: null, mac: '52:54:00:12:34:56' },
  ip: null,
  projectId: 'p',
  desiredState: 'ONBOARDED',
  currentState: 'ONBOARDED',
  registrationStatus: status,
  onboardingStatus: status,
  hostStatus: status,
  provisioningStatus: null,
  profile: null,
  site: null,
  metadata: { role: 'till' },
  generation: 0,
  provisionedGeneration: 0,
  firstBootAt: null,
  firstBoot: null,
  agents: null,
  createdAt: '',
  lastSeenAt: null,
  workflow: null,
  mayEnroll: true,
  acceptedParts: null,
  proof: null,
  ekHash: null,
  proven: null,
  ...change,
});
const site = (change: Partial<CurrentSite> = {}): CurrentSite => ({
  settings: SiteSettingsSchema.parse({}),
  profiles: [],
  templates: [],
  nodes: [],
  workflows: [],
  ...change,
});

const TINKERBELL = `
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: {name: till-7, labels: {role: till}}
spec:
  auto: {enrollmentEnabled: true}
  disks: [{device: /dev/sda}]
  interfaces:
  - dhcp: {mac: "52:54:00:12:34:99"}
  - dhcp: {mac: "52-54-00-12-34-56"}
    netboot: {allowPXE: yes}
---
apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata: {name: ubuntu-1}
spec:
  data: |
    version: "0.1"
    name: ubuntu-1
---
apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata: {name: wf-7}
spec: {templateRef: ubuntu-1, hardwareRef: till-7, hardwareMap: {device_1: "52:54:00:12:34:56"}, bootOptions: {bootMode: netboot}}
---
apiVersion: tinkerbell.org/v1alpha1
kind: WorkflowRuleSet
metadata: {name: dell}
spec:
  rules: ['{"product":{"vendor":[{"prefix":"Dell"}]}}']
  workflow: {namespace: tink, disabled: false, template: {ref: ubuntu-1, agentValue: device_id, kvs: {release: noble}}}
---
apiVersion: bmc.tinkerbell.org/v1alpha1
kind: Machine
metadata: {name: bmc-7}
`;

test('Tinkerbell’s objects become what the API takes', () => {
  const { objects, hardware, notes } = readSiteFile('site.yaml', TINKERBELL);
  expect(objects).toEqual([
    {
      kind: 'Node',
      name: 'till-7',
      body: { mac: '52-54-00-12-34-56', metadata: { role: 'till' }, autoOnboard: true, mayEnroll: true },
    },
    { kind: 'Template', name: 'ubuntu-1', body: { text: 'version: "0.1"\nname: ubuntu-1\n' } },
    {
      kind: 'Workflow',
      name: 'wf-7',
      body: {
        node: 'till-7',
        template: 'ubuntu-1',
        variables: { device_1: '52:54:00:12:34:56' },
        isPaused: false,
      },
    },
    {
      kind: 'WorkflowRuleSet',
      name: 'dell',
      body: {
        name: 'dell',
        rules: ['{"product":{"vendor":[{"prefix":"Dell"}]}}'],
        template: 'ubuntu-1',
        agentValue: 'device_id',
        values: { release: 'noble' },
        isDisabled: false,
      },
    },
  ]);
  expect([...hardware.keys()]).toEqual(['till-7']);
  expect(notes).toEqual([
    'site.yaml: Workflow wf-7: bootOptions are not used here',
    'site.yaml: Machine bmc-7 (bmc.tinkerbell.org/v1alpha1) is not used here',
  ]);
});

test('EMF’s CSV and lists of objects are read too', () => {
  expect(readSiteFile('a.csv', 'Serial,UUID,OSProfile,Metadata\nABC12345,,edge,floor=2\n').objects).toEqual([
    {
      kind: 'Node',
      name: 'ABC12345',
      body: { serial: 'ABC12345', profile: 'edge', metadata: { floor: '2' }, autoOnboard: true },
    },
  ]);
  const list = 'kind: List\nitems: [{apiVersion: kindling/v1, kind: Site, spec: {autoProvision: false}}]';
  expect(readSiteFile('l.yaml', list).objects).toEqual([
    { kind: 'Site', name: 'site', body: { autoProvision: false } },
  ]);
});

test.each([
  ['a: [', 'a.yaml:'],
  ['- 1', 'a document is not an object'],
  ['{apiVersion: kindling/v1, kind: Nonsense}', 'there is no kind Nonsense'],
  ['{apiVersion: kindling/v1, kind: Profile, spec: {}}', 'a Profile has no metadata.name'],
  ['{apiVersion: kindling/v1, kind: Profile, metadata: {name: x}, spec: {color: red}}', 'Profile x'],
  ['{apiVersion: tinkerbell.org/v1alpha1, kind: Template, metadata: {name: x}}', 'spec.data must be a text'],
  ['{apiVersion: tinkerbell.org/v1alpha1, kind: Hardware, metadata: {name: x}}', 'no interface has a MAC'],
  [
    '{apiVersion: tinkerbell.org/v1alpha1, kind: WorkflowRuleSet, metadata: {name: x}, spec: {rules: ["{{{"]}}',
    'it is not JSON',
  ],
  [
    '{apiVersion: tinkerbell.org/v1alpha1, kind: Workflow, metadata: {name: x}, spec: {templateRef: t}}',
    'it names no machine',
  ],
])('%s is refused', (text, message) => {
  expect(() => readSiteFile('a.yaml', text)).toThrow(
    expect.objectContaining({ code: 'KND_SITE_FILE_INVALID', message: expect.stringContaining(message) }),
  );
});

test('on an empty site everything is made, in an order that works', () => {
  const { objects } = readSiteFile('site.yaml', TINKERBELL);
  expect(planChanges(objects, site()).map(({ action, kind }) => `${action} ${kind}`)).toEqual([
    'create Template',
    'create WorkflowRuleSet',
    'create Node',
    'create Workflow',
  ]);
});

test('what is there already stays, and only what differs is sent', () => {
  const { objects } = readSiteFile('site.yaml', TINKERBELL);
  const rule = objects.flatMap((each) => (each.kind === 'WorkflowRuleSet' ? [each.body] : []));
  const current = site({
    settings: SiteSettingsSchema.parse({ enrollmentRules: rule }),
    templates: [{ name: 'ubuntu-1', text: 'version: "0.1"\nname: other\n', isBuiltIn: false }],
    nodes: [node({ metadata: { role: 'door' } })],
    workflows: [{ nodeId: 'host-00000001', template: 'ubuntu-1' }],
  });
  expect(planChanges(objects, current)).toEqual([
    expect.objectContaining({
      action: 'update',
      kind: 'Template',
      differences: ['- name: other', '+ name: ubuntu-1'],
    }),
    expect.objectContaining({ action: 'unchanged', kind: 'WorkflowRuleSet' }),
    expect.objectContaining({
      action: 'update',
      kind: 'Node',
      differences: ['metadata: {"role":"door"} → {"role":"till"}'],
      request: {
        method: 'PATCH',
        path: '/api/v1/nodes/host-00000001',
        body: { metadata: { role: 'till' } },
      },
    }),
    expect.objectContaining({ action: 'unchanged', kind: 'Workflow' }),
  ]);
});

test('two rules of one file end up in one list', () => {
  const rules = [...readSiteFile('a.yaml', TINKERBELL).objects, ...readSiteFile('b.yaml', TINKERBELL).objects]
    .filter(({ kind }) => kind === 'WorkflowRuleSet')
    .map((each, at) => ({ ...each, name: `r${at}`, body: { ...each.body, name: `r${at}` } }) as typeof each);
  const last = planChanges(rules, site()).at(-1)?.request?.body;
  expect(last).toMatchObject({ enrollmentRules: [{ name: 'r0' }, { name: 'r1' }] });
});

test('the same thing twice is refused', () => {
  const { objects } = readSiteFile('a.yaml', TINKERBELL);
  expect(() => planChanges([...objects, ...objects], site())).toThrow('is there twice');
});

test('only what has the label is pruned', () => {
  const current = site({
    nodes: [
      node({ id: 'host-1', name: 'gone', metadata: { from: 'git' } }),
      node({ id: 'host-2', name: 'by-hand', metadata: {} }),
      node({ id: 'host-3', name: 'kept', metadata: { from: 'git' } }),
    ],
    profiles: [ProfileSchema.parse({ name: 'old', imageUrl: 'https://x/y', metadata: { from: 'git' } })],
  });
  const wanted = readSiteFile(
    'a.yaml',
    '{apiVersion: kindling/v1, kind: Node, metadata: {name: kept, labels: {from: git}}, spec: {}}',
  ).objects;
  const changes = planChanges(wanted, current, { prune: { name: 'from', value: 'git' } });
  expect(changes.map(({ action, name }) => `${action} ${name}`)).toEqual([
    'unchanged kept',
    'delete gone',
    'delete old',
  ]);
  expect(planChanges(wanted, current)).toHaveLength(1);
});

test('what was exported changes nothing when it is applied', () => {
  const current = site({
    settings: SiteSettingsSchema.parse({
      defaultProfile: 'edge',
      enrollmentRules: [
        { name: 'r', rules: ['{"a":[1]}'], template: 't', values: { on: 'yes', number: '010' } },
      ],
    }),
    profiles: [ProfileSchema.parse({ name: 'edge', imageUrl: 'https://x/y', variables: { v: '0x10' } })],
    templates: [
      { name: 't', text: 'a: "{{ .x }}"\n\ttab\n  trailing  \n', isBuiltIn: false },
      { name: 'ubuntu', text: 'built in', isBuiltIn: true },
    ],
    nodes: [
      node({ metadata: { on: 'yes', n: '1_000' } }),
      node({ id: 'host-2', name: 'x', isRegistered: false }),
    ],
  });
  const { objects, notes } = readSiteFile('export.yaml', objectsAsYaml(exportSite(current)));
  expect(notes).toEqual([]);
  expect(objects.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'Template t',
    'Profile edge',
    'Site site',
    'WorkflowRuleSet r',
    'Node till-7',
  ]);
  expect(planChanges(objects, current).map(({ action }) => action)).toEqual(Array(5).fill('unchanged'));
  const exported = objects.find(({ kind }) => kind === 'Node');
  expect(exported?.body, 'what only the machine said is no identity').not.toHaveProperty('serial');
});
