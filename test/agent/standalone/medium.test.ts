import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStick } from '../../../agent/standalone/medium.ts';
import type { Disk, Partition } from '../../../protocol/inventory.ts';
import { encodePayloadHeader, encodeStickKey, type StickManifest } from '../../../protocol/stick.ts';
import { disk } from '../../actions/disks/disk-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-medium-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const manifest = { stickId: 'stick-1', files: [], machines: [] } as unknown as StickManifest;
const payload = join(folder, 'payload');
writeFileSync(payload, encodePayloadHeader(manifest, privateKey));

const part = (number: number, partLabel: string, path = `/dev/sdb${number}`): Partition =>
  ({ number, path, partLabel, startBytes: 0, sizeBytes: 0, signatures: [] }) as never;
const stick = (partitions: Partition[]) => disk({ name: 'sdb', bus: 'usb', isBootMedium: true, partitions });
const open = (disks: Disk[]) =>
  openStick('stick-1', encodeStickKey(publicKey), async () => disks, new AbortController().signal);

test.each([0, 1, 4, 5, 20])(
  'defect 15: a stick with %i partitions more than ours is that stick, wherever they lie',
  async (more) => {
    const others = Array.from({ length: more }, (_, index) => part(index + 10, `of a person ${index}`));
    const ours = [part(1, 'kindling-boot'), part(2, 'KINDLING'), part(3, 'kindling-payload', payload)];
    const decoy = disk({
      name: 'sdc',
      bus: 'usb',
      partitions: Array.from({ length: 7 }, (_, n) => part(n + 1, '')),
    });
    for (const partitions of [
      [...ours, ...others],
      [...others, ...ours.toReversed()],
    ]) {
      const found = await open([decoy, stick(partitions)]);
      expect(found).toMatchObject({ manifest, bootPath: '/dev/sdb1', peoplePath: '/dev/sdb2' });
      await found.payload.close();
    }
  },
);
