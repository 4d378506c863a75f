import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import type { Instance } from '../../../orchestrator-stub/nodes/instance.ts';
import { makeSealingKey } from '../../../orchestrator-stub/seal/seal.ts';
import { SiteSeal } from '../../../orchestrator-stub/secrets/site-seal.ts';
import { DocumentTable } from '../../../orchestrator-stub/store/document-table.ts';
import { RecoveryKeyTable } from '../../../orchestrator-stub/store/recovery-key-table.ts';
import type { Store } from '../../../orchestrator-stub/store/store.ts';
import { exportState } from '../../../orchestrator-stub/store/transfer/export-state.ts';
import { WorkflowTable } from '../../../orchestrator-stub/workflow/workflow-table.ts';
import { toHostId } from '../../../protocol/ids.ts';

/** Every secret that fillPlain() leaves begins with this. */
export const PLAIN = 'plain-secret-';
const HOST = toHostId('host-1');
const code = (value: string) => expect.objectContaining({ code: value });

/** What the seal of a site promises, whatever engine keeps the state. */
export function describeSiteSeal(engine: string, open: () => Promise<Store>): void {
  describe(`the seal of a site on ${engine}`, () => {
    let store: Store;
    let stateFolder: string;
    beforeEach(async () => {
      stateFolder = mkdtempSync(join(tmpdir(), 'kindling-seal-'));
      store = await open();
    });
    afterEach(async () => {
      await store.close();
      rmSync(stateFolder, { recursive: true });
    });

    const openSeal = (file?: string) => SiteSeal.open(store, { stateFolder, file, environment: {} });
    const keyFile = () => join(stateFolder, 'state-key');
    const keysInFile = () => readFileSync(keyFile(), 'utf8').trim().split('\n');
    const rotate = (site: SiteSeal) => store.transaction(() => site.rotate());

    test('an older version left secrets as they are: all are sealed, none is lost, and the export shows none', async () => {
      await fillPlain(store);
      const { seal } = await openSeal();
      expect(await readAll(store, seal)).toEqual(EVERYTHING);
      let text = '';
      await exportState(store, async (line) => {
        text += line;
      });
      expect(text).not.toContain(PLAIN);
      const first = await store.get('SELECT * FROM workflows');
      await openSeal();
      expect(await store.get('SELECT * FROM workflows'), 'the next start changes nothing').toEqual(first);
    });

    test('a missing or another key is refused by name, and nothing is made in its place', async () => {
      await openSeal();
      const kept = readFileSync(keyFile(), 'utf8');
      writeFileSync(keyFile(), makeSealingKey().text);
      await expect(openSeal()).rejects.toThrow(code('KND_SEAL_KEY'));
      rmSync(keyFile());
      await expect(openSeal()).rejects.toThrow(code('KND_SEAL_KEY'));
      await expect(openSeal('/nonexistent/key')).rejects.toThrow('/nonexistent/key cannot be read');
      writeFileSync(keyFile(), kept);
      await openSeal();
    });

    test('a new key is taken while others write: what waited for it is not lost with the old key', async () => {
      await fillPlain(store);
      const site = await openSeal();
      const [before] = keysInFile();
      const documents = new DocumentTable<string>(store, 'templates', site.seal);
      const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
      const [rotation] = await Promise.all([
        rotate(site),
        ...names.map((name) => documents.save(name, `${PLAIN}${name}`)),
      ]);
      expect(rotation).toMatchObject({ isNew: true });
      await expect.poll(keysInFile).toEqual([expect.not.stringMatching(before ?? '')]);
      const { seal } = await openSeal();
      expect(seal.keys).toHaveLength(1);
      const anew = new DocumentTable<string>(store, 'templates', seal);
      for (const name of names) expect(await anew.get(name)).toBe(`${PLAIN}${name}`);
      expect(await readAll(store, seal)).toEqual(EVERYTHING);
    });

    test('a rotation that was taken back, or that a crash cut off, is finished by the next start', async () => {
      await fillPlain(store);
      const site = await openSeal();
      const failing = store.transaction(async () => {
        await site.rotate();
        throw new Error('taken back');
      });
      await expect(failing).rejects.toThrow('taken back');
      expect(keysInFile()).toHaveLength(2);
      const { seal } = await openSeal();
      expect(await readAll(store, seal)).toEqual(EVERYTHING);
      expect(keysInFile()).toEqual([seal.keys[0].text]);
    });

    test('a key file that was given is read again, and never written', async () => {
      await fillPlain(store);
      const [first, second] = [makeSealingKey(), makeSealingKey()];
      const given = join(stateFolder, 'given');
      writeFileSync(given, first.text);
      const site = await openSeal(given);
      expect(await rotate(site)).toEqual({ keyId: first.id, isNew: false, sealed: 0 });
      writeFileSync(given, `${second.text}\n${first.text}\n`);
      expect(await rotate(site)).toEqual({ keyId: second.id, isNew: true, sealed: 6 });
      expect(readFileSync(given, 'utf8')).toBe(`${second.text}\n${first.text}\n`);
      await store.transaction(async () => {}); // behind the last step of the rotation
      writeFileSync(given, second.text);
      expect(await readAll(store, (await openSeal(given)).seal)).toEqual(EVERYTHING);
    });
  });
}

const INSTANCE = {
  hostId: HOST,
  generation: 1,
  firstBootKey: `${PLAIN}first-boot`,
  escrowKey: `${PLAIN}escrow`,
  neighborsKey: `${PLAIN}neighbors`,
} as Instance;
const DEFINITION = {
  id: 'w',
  hostId: HOST,
  generation: 1,
  actions: [{ environment: [`P=${PLAIN}variable`] }],
};
const KEY = { keyId: 'k', recoveryKey: `${PLAIN}recovery`, disk: {}, receivedAt: 't' };
const EVERYTHING = {
  client: `${PLAIN}client`,
  profile: { cloudInit: `${PLAIN}profile` },
  settings: { httpProxy: `${PLAIN}proxy` },
  instance: INSTANCE,
  found: [INSTANCE, INSTANCE, INSTANCE],
  recoveryKeys: [KEY],
  definition: DEFINITION,
};

/** As a version before there were keys wrote it. */
export async function fillPlain(store: Store): Promise<void> {
  const text = (value: unknown) => JSON.stringify(value);
  await store.run('INSERT INTO hosts (id, document) VALUES (?, ?)', HOST, '{"isRegistered":true}');
  await store.run("INSERT INTO clients VALUES ('c', ?, ?, 't')", HOST, EVERYTHING.client);
  await store.run("INSERT INTO profiles VALUES ('p', ?)", text(EVERYTHING.profile));
  await store.run("INSERT INTO settings VALUES ('site', ?)", text(EVERYTHING.settings));
  await store.run('INSERT INTO instances (host_id, document) VALUES (?, ?)', HOST, text(INSTANCE));
  await store.run("INSERT INTO recovery_keys VALUES (?, 'k', ?)", HOST, text(KEY));
  await store.run(
    "INSERT INTO workflows (id, host_id, definition) VALUES ('w', ?, ?)",
    HOST,
    text(DEFINITION),
  );
  await store.run("INSERT INTO workflow_progress VALUES ('w', '{}')");
}

async function readAll(store: Store, seal: SiteSeal['seal']): Promise<unknown> {
  const hosts = new HostTable(store, seal);
  const client = await store.get<{ secret: string }>('SELECT secret FROM clients');
  return {
    client: seal.open(client?.secret ?? '', '["clients","c"]'),
    profile: await new DocumentTable(store, 'profiles', seal).get('p'),
    settings: await new DocumentTable(store, 'settings', seal).get('site'),
    instance: await hosts.instance(HOST),
    found: [
      await hosts.instanceByFirstBootKey(INSTANCE.firstBootKey),
      await hosts.instanceByEscrowKey(`${PLAIN}escrow`),
      await hosts.instanceByNeighborsKey(`${PLAIN}neighbors`),
    ],
    recoveryKeys: await new RecoveryKeyTable(store, seal).list(HOST),
    definition: (await new WorkflowTable(store, seal).byId('w'))?.definition,
  };
}
