import type { ImageManifest } from '../../formats/image-manifest.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import { ChunkedImage } from './chunks/chunked-image.ts';
import { loadManifest } from './chunks/load-manifest.ts';
import { ImageWrite } from './image-write.ts';
import type { WriteImage, WriteImageContext, WriteImageRequest, WriteImageResult } from './interface.ts';
import { PlainImage } from './plain-image.ts';
import { rereadPartitionTable } from './target/reread-table.ts';
import { openTarget, type Target } from './target/target.ts';

/**
 * Streams an image onto a disk; returns only when every byte is verified and synced.
 * 1 open the disk for us alone  2 look for a manifest  3 write by chunks, or the plain way  4 let the kernel see the table
 */
export const writeImage: WriteImage = async (given, context = {}) => {
  if (given.sources.length === 0) throw new KindlingError('KND_USAGE', 'no image source was given');
  const request = withCredentialOrigins(given);
  const target = openTarget(request.target);
  const reread = async () => {
    target.close();
    if (target.isBlockDevice)
      await rereadPartitionTable(target.path, context.run ? { run: context.run } : {});
  };
  let result: WriteImageResult;
  try {
    const manifest = await loadManifest(request, context);
    result = manifest
      ? await writeByChunks(request, context, target, manifest)
      : await writePlain(request, context, target);
  } catch (thrown) {
    await reread().catch(() => {}); // the first failure is the one to tell
    throw thrown;
  }
  await reread();
  context.log?.('info', result.closingLine, { ...result });
  return result;
};

/** Credentials are for the server of the image: a mirror, or the server with the signature, is a different server until the request says otherwise. */
function withCredentialOrigins(request: WriteImageRequest): WriteImageRequest {
  const { sources, transport = {} } = request;
  const own = URL.parse(sources[0] ?? '')?.origin;
  const credentialOrigins = [...(own === undefined ? [] : [own]), ...(transport.credentialOrigins ?? [])];
  return { ...request, transport: { ...transport, credentialOrigins } };
}

/** A server without ranges cannot give chunks, but it can give the file: the manifest then vouches for all of it. */
async function writeByChunks(
  request: WriteImageRequest,
  context: WriteImageContext,
  target: Target,
  manifest: ImageManifest,
): Promise<WriteImageResult> {
  const image = new ChunkedImage(request, context, target, manifest);
  const write = new ImageWrite(request, context, target, image);
  try {
    return await write.run();
  } catch (thrown) {
    const { use = 'auto', mode = 'write' } = request.chunks ?? {};
    const isFree = use === 'auto' && mode === 'write' && write.isUntouched;
    if (!isFree || toKindlingError(thrown).code !== 'KND_IMAGE_NEEDS_RANGES') throw thrown;
  }
  context.log?.('warn', 'the server does not answer Range requests: the image is written the plain way');
  const { signers: _, ...expected } = request.expected ?? {};
  const vouched = { length: manifest.blobSize, sha256: manifest.blobSha256, rawLength: manifest.size };
  return writePlain({ ...request, expected: { ...expected, ...vouched } }, context, target);
}

function writePlain(
  request: WriteImageRequest,
  context: WriteImageContext,
  target: Target,
): Promise<WriteImageResult> {
  return new ImageWrite(request, context, target, new PlainImage(request, context, target)).run();
}
