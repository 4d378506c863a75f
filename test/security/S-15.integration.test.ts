import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { updateMirror } from '../../netboot/mirror/update-mirror.ts';
import { sealDocument } from '../../protocol/signed-document.ts';
import { BOOT_DOMAIN, BOOT_LIST_NAME, type BootList } from '../../protocol/site-files.ts';
import { publicArchiveKeys } from '../../site/archive-key.ts';

const forever = new AbortController().signal;
const FAR = '2100-01-01T00:00:00.000Z';
let folder: string;
/** What the server, or who speaks for it, answers for the list. */
let served: string;
const server = createServer((_, response) => response.end(served));
let origin: { url: string };

const newKey = () => generateKeyPairSync('ed25519').privateKey;
const names = (keys: KeyObject[]) => publicArchiveKeys(keys);
const list = (value: Partial<BootList>, signers: KeyObject[]) =>
  sealDocument(BOOT_DOMAIN, { keys: names(signers), files: {}, expires: FAR, ...value }, signers);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-rollback-'));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const current = () => readFileSync(join(folder, 'current', BOOT_LIST_NAME), 'utf8');

test('S-15: a mirror that has had a version takes no older one, however well signed, also after a restart', async () => {
  const key = newKey();
  const mirror = { folder, key: names([key])[0] ?? '' };
  const january = list({ version: 1 }, [key]);
  const november = list({ version: 2 }, [key]);
  for (served of [january, november])
    expect(await updateMirror(mirror, origin, forever)).toMatchObject({ kind: 'updated' });
  for (const old of [january, list({}, [key])]) {
    served = old;
    await expect(updateMirror(mirror, origin, forever)).rejects.toMatchObject({
      code: 'KND_MIRROR_REFUSED',
      message: expect.stringMatching(/is version [01], older than version 2, which this mirror has had$/),
    });
    expect(current()).toBe(november);
  }
});

test('S-15: a mirror takes no list after its end, and says that a newer one is missing when nothing new comes', async () => {
  const key = newKey();
  let now = new Date('2026-11-18T00:00:00.000Z');
  const mirror = { folder, key: names([key])[0] ?? '', now: () => now };
  served = list({ version: 1, expires: '2027-02-16T00:00:00.000Z' }, [key]);
  await updateMirror(mirror, origin, forever);
  now = new Date('2027-02-16T00:00:00.000Z');
  await expect(updateMirror(mirror, origin, forever)).rejects.toThrow(
    'was good until 2027-02-16T00:00:00.000Z; a newer one is missing',
  );
  expect(current()).toBe(served); // machines go on booting from what there is
});

test('S-15: a retired key is retired: what only it signed is refused, though the mirror was set up with it', async () => {
  const stolen = newKey();
  const present = newKey();
  const mirror = { folder, key: names([stolen])[0] ?? '' };
  served = list({ version: 1 }, [stolen]);
  await updateMirror(mirror, origin, forever);
  served = list({ version: 2 }, [present, stolen]); // the overlap
  await updateMirror(mirror, origin, forever);
  served = list({ version: 3 }, [present]);
  await updateMirror(mirror, origin, forever);
  served = list({ version: 4 }, [stolen]);
  await expect(updateMirror(mirror, origin, forever)).rejects.toThrow('is signed by another site');
});
