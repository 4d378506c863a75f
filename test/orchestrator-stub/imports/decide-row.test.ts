import { describe, expect, test } from 'vitest';
import { decideRow, type RowSurroundings } from '../../../orchestrator-stub/imports/decide-row.ts';
import { readMachineList } from '../../../orchestrator-stub/imports/machine-list.ts';
import type { Host } from '../../../orchestrator-stub/nodes/host.ts';
import { ProfileSchema } from '../../../orchestrator-stub/nodes/profile.ts';
import { newHost, registerHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { toHostId } from '../../../protocol/ids.ts';

const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';
const EPOCH = new Date(0);
const PROFILE = ProfileSchema.parse({
  name: 'edge',
  imageUrl: 'http://images.test/x.raw',
  lvmSizeGb: 60,
  localAccount: { user: 'max', sshKey: 'ssh-ed25519 AAAA' },
  customConfigs: [{ name: 'proxy', content: '' }],
});
const NOWHERE: RowSurroundings = {
  profile: undefined,
  holders: [],
  strangers: [],
  namesakes: [],
  ekHolder: undefined,
};

function host(id: string, registration: Parameters<typeof registerHost>[1]): Host {
  return registerHost(newHost(toHostId(id), 'p', EPOCH), registration, EPOCH);
}

function decide(text: string, site: Partial<RowSurroundings> = {}) {
  const [machine] = readMachineList(text).machines;
  if (!machine) throw new Error('the list has no row');
  return decideRow(machine, { ...NOWHERE, ...site });
}

function faultsOf(text: string, site: Partial<RowSurroundings> = {}): string[] {
  const decision = decide(text, site);
  return decision.verdict === 'bad' ? decision.faults.map(({ message }) => message) : [];
}

test('a machine that nobody knows is new', () => {
  expect(decide('Serial,Name,Metadata\nABC12345,till-1,rack=1\n')).toMatchObject({
    verdict: 'new',
    registration: { serial: 'ABC12345', name: 'till-1', metadata: { rack: '1' } },
  });
});

describe('a machine that is registered', () => {
  const known = host('host-1', {
    serial: 'ABC12345',
    name: 'till-1',
    profile: 'edge',
    metadata: { rack: '1', place: 'sw1/2' },
  });
  const site = { holders: [known], namesakes: [known], profile: PROFILE };

  test('is the same where the row says nothing else; an empty cell says nothing', () => {
    expect(decide('Serial,Name,OSProfile,Site,Metadata\nabc12345,till-1,,,rack=1\n', site)).toEqual({
      verdict: 'same',
      host: known,
    });
  });

  test('is changed where the row says something else, field by field', () => {
    const decision = decide(
      `Serial,UUID,Name,OSProfile,Site,Metadata\nABC12345,${UUID},till-9,edge2,berlin,rack=2\n`,
      { ...site, namesakes: [] },
    );
    expect(decision).toMatchObject({
      verdict: 'changed',
      change: {
        uuid: UUID,
        name: 'till-9',
        profile: 'edge2',
        site: 'berlin',
        metadata: { rack: '2', place: 'sw1/2' },
      },
      changes: [
        { field: 'uuid', from: '', to: UUID },
        { field: 'name', from: 'till-1', to: 'till-9' },
        { field: 'profile', from: 'edge', to: 'edge2' },
        { field: 'site', from: '', to: 'berlin' },
        { field: 'metadata.rack', from: '1', to: '2' },
      ],
    });
  });

  test('is not turned into another one', () => {
    const withUuid = { ...known, uuid: UUID };
    expect(
      faultsOf('Serial,UUID\nABC12345,7a8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5\n', { holders: [withUuid] }),
    ).toEqual([`Host already registered with mismatching details: its UUID is ${UUID}`]);
    const other = host('host-2', { uuid: UUID, name: 'till-2' });
    expect(faultsOf(`Serial,UUID\nABC12345,${UUID}\n`, { holders: [known, other] })).toEqual([
      'The row mixes details of several hosts: till-1 (host-1) and till-2 (host-2)',
    ]);
    expect(faultsOf('Serial,Name\nNEW12345,till-1\n', { namesakes: [known] })).toEqual([
      'The name is that of another host, host-1',
    ]);
    expect(faultsOf(`Serial,EKHash\nNEW12345,${'ab'.repeat(32)}\n`, { ekHolder: known })).toEqual([
      'The TPM is that of another host, till-1 (host-1)',
    ]);
  });
});

describe('columns of EMF that are set by the profile here', () => {
  const header = 'Serial,OSProfile,Secure,RemoteUser,LVMSize,CloudInitMeta';

  test('are honored by a profile that says the same', () => {
    expect(decide(`${header}\nABC12345,edge,false,max,60,proxy\n`, { profile: PROFILE }).verdict).toBe('new');
  });

  test.each([
    ['edge,true,,,', 'OS Profile and Security feature mismatch', 2],
    ['edge,,eve,,', 'The account is set by the profile, and profile edge has max, not "eve"', 3],
    ['edge,,,80,', 'The size is set by the profile, and profile edge has 60, not 80', 4],
    ['edge,,,,dns', 'Cloud-init files are set by the profile, and profile edge has proxy, not "dns"', 5],
  ])('make the row bad where it says something else: %s', (cells, message, column) => {
    expect(decide(`${header}\nABC12345,${cells}\n`, { profile: PROFILE })).toEqual({
      verdict: 'bad',
      faults: [{ column, message }],
    });
  });

  test('make the row bad where there is no profile', () => {
    expect(faultsOf(`${header}\nABC12345,nope\n`)).toEqual(['OS Profile "nope" not found']);
    expect(faultsOf(`${header}\nABC12345,,,max,60,proxy\n`)).toHaveLength(3);
  });
});
