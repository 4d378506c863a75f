import { KindlingError } from '../../protocol/error.ts';
import { ChunkedImageWrite } from './chunks/chunked-image.ts';
import { loadManifest } from './chunks/load-manifest.ts';
import type { WriteImage, WriteImageResult } from './interface.ts';
import { PlainImageWrite } from './plain-image.ts';
import { rereadPartitionTable } from './target/reread-table.ts';
import { openTarget } from './target/target.ts';

/**
 * Streams an image onto a disk; returns only when every byte is verified and synced.
 * 1 open the disk for us alone  2 look for a manifest  3 write by chunks, or the plain way  4 let the kernel see the table
 */
export const writeImage: WriteImage = async (request, context = {}) => {
  if (request.sources.length === 0) throw new KindlingError('KND_USAGE', 'no image source was given');
  const target = openTarget(request.target);
  const reread = async () => {
    target.close();
    if (target.isBlockDevice)
      await rereadPartitionTable(target.path, context.run ? { run: context.run } : {});
  };
  let result: WriteImageResult;
  try {
    const manifest = await loadManifest(request, context);
    const write = manifest
      ? new ChunkedImageWrite(request, context, target, manifest)
      : new PlainImageWrite(request, context, target);
    result = await write.run();
  } catch (thrown) {
    await reread().catch(() => {}); // the first failure is the one to tell
    throw thrown;
  }
  await reread();
  context.log?.('info', result.closingLine, { ...result });
  return result;
};
