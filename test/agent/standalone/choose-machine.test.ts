import { expect, test } from 'vitest';
import { chooseMachine } from '../../../agent/standalone/choose-machine.ts';
import type { Identity } from '../../../protocol/identity.ts';
import { toNodeId } from '../../../protocol/ids.ts';
import type { StickMachine, StickMatch } from '../../../protocol/stick.ts';

const entry = (match: StickMatch, configId: string, refuse = false): StickMachine => ({
  match,
  refuse,
  configId,
  diskSelector: 'size>0',
  wipeOthers: false,
  confirm: 'none',
  countdownSeconds: 0,
  after: 'reboot',
  userData: '',
  networkConfig: '',
  targetKind: 'mutable',
  artifacts: [],
});
const MACHINES = [
  entry({ mac: '52-54-00-00-00-01' }, 'by-mac'),
  entry({ uuid: '11111111-2222-3333-4444-555555555555' }, 'by-uuid'),
  entry({ serial: 'A1' }, 'by-serial'),
  entry({ serial: 'B1' }, 'refused', true),
  entry('default', 'default'),
];
const machine = (identity: Partial<Identity>): Identity => ({
  macs: [],
  nodeId: toNodeId('n'),
  evidence: [],
  ...identity,
});

test.each<[string, Partial<Identity>]>([
  ['by-serial', { serial: 'a1', uuid: '11111111-2222-3333-4444-555555555555' }],
  ['by-uuid', { uuid: '11111111-2222-3333-4444-555555555555', macs: ['52:54:00:00:00:01'] }],
  ['by-uuid', { uuid: 'x', uuidAlias: '11111111-2222-3333-4444-555555555555' }],
  ['by-mac', { serial: 'none', macs: ['52:54:00:00:00:09', '52:54:00:00:00:01'] }],
  ['default', { serial: 'C1' }],
  ['default', {}],
])('%s', (configId, identity) => {
  expect(chooseMachine(MACHINES, machine(identity)).configId).toBe(configId);
});

test('a machine that the file refuses, or that nothing stands for, gets nothing', () => {
  const refused = expect.objectContaining({ code: 'KND_STICK_MACHINE_REFUSED', exitCode: 4 });
  expect(() => chooseMachine(MACHINES, machine({ serial: 'B1' }))).toThrow(refused);
  expect(() => chooseMachine([], machine({ serial: 'Z' }))).toThrow(refused);
});
