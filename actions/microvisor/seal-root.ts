import { randomBytes } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import { filesystemBytes, type Part } from '../moving/ext4-size.ts';
import { buildVerityTree, verityBytes } from './verity.ts';

const PIECE = 4 * 2 ** 20;

/** Hashes the root's file system and writes the tree to the hash partition; gives the root hash. */
export async function sealRoot(
  root: Part,
  hashes: Part,
  context: { signal: AbortSignal; onProgress(percent: number): void },
): Promise<string> {
  const dataBytes = await filesystemBytes(root);
  if (verityBytes(dataBytes) > hashes.sizeBytes) {
    throw new KindlingError('KND_DISK_TOO_SMALL', 'the hash tree of the root does not fit its partition');
  }
  async function* pieces() {
    for (let at = 0; at < dataBytes; at += PIECE) {
      context.signal.throwIfAborted();
      context.onProgress((at / dataBytes) * 100);
      yield await root.device.readAt(root.startBytes + at, Math.min(PIECE, dataBytes - at));
    }
  }
  const tree = await buildVerityTree(pieces(), { dataBytes, salt: randomBytes(32), uuid: randomBytes(16) });
  await hashes.device.writeAt(hashes.startBytes, tree.bytes);
  await hashes.device.sync();
  return tree.rootHash;
}
