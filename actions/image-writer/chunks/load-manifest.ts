import { KindlingError } from '../../../protocol/error.ts';
import { decodeManifest, type ImageManifest, isManifestSignedBy } from '../../../protocol/image-manifest.ts';
import { nameDownloadError } from '../download.ts';
import { getSmall, redact } from '../http/get.ts';
import type { WriteImageContext, WriteImageRequest } from '../interface.ts';
import { besides } from '../signature.ts';

/** 150 bytes per 4 MiB: enough for 1.7 TiB. */
const MAX_MANIFEST = 64 * 1024 * 1024;

/**
 * Looks for the manifest beside the image and decides whether it can be used. It can when its root is the one we were
 * told, or a trusted key signed it; or when nothing was asked for that the plain way would check better.
 */
export async function loadManifest(
  request: WriteImageRequest,
  context: WriteImageContext,
): Promise<ImageManifest | undefined> {
  const { use = 'auto', manifestUrl, manifestRoot, trustedKeys = [] } = request.chunks ?? {};
  const expected = request.expected ?? {};
  const needsChunks = use === 'require' || (request.chunks?.mode ?? 'write') !== 'write';
  const isForced = needsChunks || manifestRoot !== undefined || manifestUrl !== undefined;
  if (use === 'never') return undefined;
  const text = await fetchManifest(request, manifestUrl, isForced);
  if (!text) return undefined;
  const manifest = decodeManifest(text);
  if (manifestRoot !== undefined && manifest.root !== manifestRoot.toLowerCase()) {
    throw new KindlingError(
      'KND_IMAGE_MANIFEST',
      `the manifest’s root is ${manifest.root}, expected was ${manifestRoot}`,
    );
  }
  const isSigned = trustedKeys.length > 0 && isManifestSignedBy(manifest, trustedKeys);
  if (trustedKeys.length > 0 && !isSigned && manifestRoot === undefined) {
    throw new KindlingError('KND_IMAGE_SIGNATURE', 'the image manifest is not signed by a trusted key');
  }
  const isTrusted = isSigned || manifestRoot !== undefined;
  const wantsProof = expected.sha256 ?? expected.sha512 ?? expected.rawSha256 ?? expected.signers;
  if (!isTrusted && wantsProof !== undefined) {
    if (needsChunks) {
      throw new KindlingError(
        'KND_IMAGE_SIGNATURE',
        'the request expects a checksum, and nobody vouches for the manifest',
      );
    }
    context.log?.(
      'info',
      'there is a manifest, but nobody vouches for it: the image is written the plain way',
    );
    return undefined;
  }
  const isSame = (wanted: string | undefined, found: string) =>
    wanted === undefined || wanted.toLowerCase() === found;
  if (!isSame(expected.sha256, manifest.blobSha256) || !isSame(expected.rawSha256, manifest.rawSha256)) {
    throw new KindlingError(
      'KND_IMAGE_HASH',
      'the manifest belongs to another image than the expected checksum',
    );
  }
  return manifest;
}

async function fetchManifest(
  request: WriteImageRequest,
  manifestUrl: string | undefined,
  isForced: boolean,
): Promise<string | undefined> {
  const candidates = manifestUrl
    ? [manifestUrl]
    : request.sources.map((source) => besides(source, '.manifest'));
  let failure: unknown;
  for (const url of candidates) {
    try {
      const bytes = await getSmall(url, { transport: request.transport ?? {} }, MAX_MANIFEST);
      // a server that answers every path with a page of its own has no manifest
      if (bytes?.subarray(0, 24).equals(Buffer.from('kindling-image-manifest '))) return bytes.toString();
    } catch (thrown) {
      failure = thrown;
    }
  }
  if (!isForced) return undefined;
  if (failure !== undefined) throw nameDownloadError(failure, candidates[0] ?? '');
  throw new KindlingError('KND_IMAGE_MANIFEST', `${redact(candidates[0] ?? '')} is not there`);
}
