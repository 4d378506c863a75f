import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventBus } from '../../orchestrator-stub/events/bus.ts';
import { HostTable } from '../../orchestrator-stub/nodes/host-table.ts';
import { Nodes } from '../../orchestrator-stub/nodes/nodes.ts';
import { SqliteStore } from '../../orchestrator-stub/store/sqlite-store.ts';
import { toHostId } from '../../protocol/ids.ts';
import { testSeal } from '../orchestrator-stub/seal/test-seal.ts';
import { ghost } from './attacked-site.ts';

let folder: string;
let store: SqliteStore;
let hosts: HostTable;
let nodes: Nodes;
let limit = 10_000;
beforeEach(() => {
  limit = 10_000;
  folder = mkdtempSync(join(tmpdir(), 'kindling-s20-'));
  store = new SqliteStore(join(folder, 'kindling.sqlite'), {
    onDefect: (thrown) => {
      throw thrown;
    },
  });
  hosts = new HostTable(store, testSeal());
  nodes = new Nodes({
    store,
    hosts,
    bus: new EventBus(store),
    projectId: 'p',
    isStrict: false,
    now: () => new Date(),
    maxUnknown: () => limit,
  });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const identity = (number: number) => ({ uuid: ghost(number).uuid, macs: [], nodeId: 'x' });

it('50 invented machines with the largest inventories leave some kilobytes, not 215 MB', async () => {
  const extra = 'x'.repeat(250_000);
  for (let number = 0; number < 50; number += 1)
    await nodes.discover({ identity: identity(number), extra }, '10.0.0.9');
  const [first] = await nodes.list();
  expect(await hosts.claim(first?.id ?? toHostId('none'))).toEqual({ identity: identity(0) });
  await store.close();
  expect(statSync(join(folder, 'kindling.sqlite')).size).toBeLessThan(1_000_000);
  store = new SqliteStore(join(folder, 'again.sqlite'), { onDefect: () => {} });
});

it('one network invents a limited number, while others show themselves', async () => {
  const invent = async () => {
    for (let number = 0; number < 5000; number += 1)
      await nodes.discover({ identity: identity(number) }, `10.0.0.${number % 254}`);
  };
  await expect(invent()).rejects.toThrow(expect.objectContaining({ code: 'KND_API_BUSY' }));
  expect((await nodes.list()).length).toBeLessThan(1100);
  expect(await nodes.discover({ identity: identity(9000) }, '10.0.1.7')).toMatchObject({
    isRegistered: false,
  });
  // What is known already, and what is registered, has no such limit.
  expect((await nodes.discover({ identity: identity(0) }, '10.0.0.9')).uuid).toBe(ghost(0).uuid);
  const till = await nodes.register({ uuid: ghost(9001).uuid });
  expect((await nodes.discover({ identity: identity(9001) }, '10.0.0.9')).id).toBe(till.id);
});

it('a full list shuts nobody out: the stranger that was silent longest goes', async () => {
  limit = 60;
  for (let number = 0; number < 60; number += 1)
    await nodes.discover({ identity: identity(number) }, '10.0.0.9');
  expect((await nodes.discover({ identity: identity(100) }, '10.0.1.7')).uuid).toBe(ghost(100).uuid);
  expect(await nodes.list()).toHaveLength(60);
});
