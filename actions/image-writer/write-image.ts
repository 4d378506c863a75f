import { KindlingError } from '../../protocol/error.ts';
import type { WriteImage } from './interface.ts';
import { PlainImageWrite } from './plain-image.ts';
import { rereadPartitionTable } from './target/reread-table.ts';
import { openTarget } from './target/target.ts';

/** Streams an image onto a disk; returns only when every byte is verified and synced. */
export const writeImage: WriteImage = async (request, context = {}) => {
  if (request.sources.length === 0) throw new KindlingError('KND_USAGE', 'no image source was given');
  const target = openTarget(request.target);
  try {
    const result = await new PlainImageWrite(request, context, target).run();
    context.log?.('info', result.closingLine, { ...result });
    return result;
  } finally {
    target.close();
    if (target.isBlockDevice) {
      await rereadPartitionTable(target.path, { ...(context.run ? { run: context.run } : {}) });
    }
  }
};
