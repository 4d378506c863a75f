import {
  decodeManifest,
  type ImageManifest,
  isManifestSignedBy,
  MANIFEST_MAGIC,
} from '../../../formats/image-manifest.ts';
import { redact } from '../../../net/redact.ts';
import { KindlingError, toKindlingError } from '../../../protocol/error.ts';
import { getSmall } from '../http/get.ts';
import { getFromAny } from '../http/get-from-any.ts';
import type { ExpectedImage, WriteImageContext, WriteImageRequest } from '../interface.ts';
import { besides } from '../signature.ts';

/** Of any version: one that we cannot read is to be told, not overlooked. */
const MANIFEST_KIND = MANIFEST_MAGIC.replace(/\d+$/, '');
/** 150 bytes per 4 MiB: enough for 1.7 TiB. */
const MAX_MANIFEST = 64 * 1024 * 1024;
/** A page that says "not found" is no longer than this; what is longer is the image, from a server without ranges. */
const MAX_NOT_FOUND_PAGE = 64 * 1024;

/** When nothing depends on the manifest, its server gets this long to answer; the image is then written the plain way. */
const OPTIONAL_WINDOW_MS = 15_000;

/**
 * Looks for the manifest beside the image and decides whether it can be used. It can when its root is the one we were
 * told, or a trusted key signed it; or when nothing was asked for that the plain way would check better.
 */
export async function loadManifest(
  request: WriteImageRequest,
  context: WriteImageContext,
): Promise<ImageManifest | undefined> {
  const { use = 'auto', manifestUrl, manifestRoot, minimumVersion, trustedKeys = [] } = request.chunks ?? {};
  const expected = request.expected ?? {};
  const needsChunks = use === 'require' || (request.chunks?.mode ?? 'write') !== 'write';
  const isForced =
    needsChunks || [manifestRoot, minimumVersion, manifestUrl].some((named) => named !== undefined);
  if (use === 'never') return undefined;
  const text = await fetchManifest(request, context, isForced);
  if (!text) return undefined;
  const manifest = decodeManifest(text);
  checkOrigin(manifest, manifestRoot, trustedKeys);
  checkVersion(manifest, minimumVersion);
  // a request that names the root means this very image, however old it is
  if (manifestRoot === undefined) checkEnd(manifest, new Date());
  const doubt = reasonForThePlainWay(expected, manifestRoot !== undefined || trustedKeys.length > 0);
  if (doubt !== undefined) {
    if (needsChunks)
      throw new KindlingError('KND_IMAGE_SIGNATURE', `the image cannot be written by chunks: ${doubt}`);
    context.log?.('info', `there is a manifest, but ${doubt}: the image is written the plain way`);
    return undefined;
  }
  checkExpected(manifest, expected);
  return manifest;
}

/** Whatever the request names, it must be: the root, and a signature by one of the keys. */
function checkOrigin(
  manifest: ImageManifest,
  manifestRoot: string | undefined,
  trustedKeys: readonly string[],
): void {
  if (manifestRoot !== undefined && manifest.root !== manifestRoot.toLowerCase()) {
    throw new KindlingError(
      'KND_IMAGE_MANIFEST',
      `the manifest’s root is ${manifest.root}, expected was ${manifestRoot}`,
    );
  }
  if (trustedKeys.length > 0 && !isManifestSignedBy(manifest, trustedKeys)) {
    const signers = manifest.signatures.map(({ keyId }) => keyId).join(', ');
    throw new KindlingError(
      'KND_IMAGE_SIGNATURE',
      signers
        ? `the image manifest is signed by ${signers}, and none of them is a trusted key`
        : 'the image manifest is not signed, and the request names keys that must have signed it',
    );
  }
}

function checkVersion({ version }: ImageManifest, minimum: number | undefined): void {
  if (minimum === undefined || (version ?? 0) >= minimum) return;
  const what = version === undefined ? 'has no version' : `is version ${version}`;
  throw new KindlingError('KND_IMAGE_OLD', `the image ${what}, and the request wants ${minimum} or newer`);
}

function checkEnd({ expires }: ImageManifest, now: Date): void {
  if (expires === undefined || Date.parse(expires) > now.getTime()) return;
  throw new KindlingError(
    'KND_IMAGE_EXPIRED',
    `the image was good until ${expires}, and this machine’s clock says ${now.toISOString()}`,
  );
}

function reasonForThePlainWay(expected: ExpectedImage, isTrusted: boolean): string | undefined {
  if (expected.sha512 !== undefined) return 'it has no SHA-512, which the request expects';
  const wantsProof = expected.sha256 ?? expected.rawSha256 ?? expected.signers;
  if (!isTrusted && wantsProof !== undefined)
    return 'nobody vouches for it, and the request expects a checksum or a signature';
  return undefined;
}

/** What was expected of the plain file is expected of the manifest that describes it. */
function checkExpected(manifest: ImageManifest, expected: ExpectedImage): void {
  const isSame = (wanted: string | undefined, found: string) =>
    wanted === undefined || wanted.toLowerCase() === found;
  if (!isSame(expected.sha256, manifest.blobSha256) || !isSame(expected.rawSha256, manifest.rawSha256)) {
    throw new KindlingError(
      'KND_IMAGE_HASH',
      'the manifest belongs to another image than the expected checksum',
    );
  }
  const { length = manifest.blobSize, rawLength = manifest.size } = expected;
  if (length !== manifest.blobSize || rawLength !== manifest.size) {
    throw new KindlingError(
      'KND_IMAGE_LENGTH',
      `the manifest says ${manifest.blobSize} bytes (raw ${manifest.size}), expected were ${length} (raw ${rawLength})`,
    );
  }
  if (expected.compressed === false || (expected.format !== undefined && expected.format !== 'zst')) {
    throw new KindlingError(
      'KND_IMAGE_CONTRADICTION',
      `the request says ${expected.format ?? 'that it is not compressed'}, the image has a manifest, and chunks are zst`,
    );
  }
}

async function fetchManifest(
  request: WriteImageRequest,
  context: WriteImageContext,
  isForced: boolean,
): Promise<string | undefined> {
  const { manifestUrl } = request.chunks ?? {};
  const candidates = manifestUrl
    ? [manifestUrl]
    : request.sources.map((source) => besides(source, '.manifest'));
  const { retry = {}, transport = {} } = request;
  const windowMs = isForced ? retry.windowMs : Math.min(retry.windowMs ?? Infinity, OPTIONAL_WINDOW_MS);
  try {
    const bytes = await getFromAny(candidates, {
      transport,
      retry: { ...retry, ...(windowMs === undefined ? {} : { windowMs }) },
      maxLength: MAX_MANIFEST,
      magic: MANIFEST_KIND,
      isNeeded: isForced,
      log: (level, message) => context.log?.(level, message),
      ...(context.signal ? { signal: context.signal } : {}),
    });
    if (bytes) return bytes.toString();
  } catch (thrown) {
    if (isForced || context.signal?.aborted) throw thrown;
    const { message } = toKindlingError(thrown);
    context.log?.('warn', `no manifest (${message}): the image is written the plain way`);
    return undefined;
  }
  if (!isForced) return undefined;
  await checkImageIsThere(request, context);
  throw new KindlingError('KND_IMAGE_MANIFEST', `${redact(candidates[0] ?? '')} is not there`);
}

/** A mistyped address misses both files: to say that the manifest is missing would send a person the wrong way. */
async function checkImageIsThere(
  { sources, transport = {} }: WriteImageRequest,
  { signal }: WriteImageContext,
): Promise<void> {
  const options = { transport, headers: { Range: 'bytes=0-0' }, ...(signal ? { signal } : {}) };
  for (const source of sources) {
    try {
      if (await getSmall(source, options, MAX_NOT_FOUND_PAGE)) return;
    } catch {
      // any other answer than "not there", a longer one too: the image may well be there
      signal?.throwIfAborted();
      return;
    }
  }
  throw new KindlingError(
    'KND_IMAGE_NOT_FOUND',
    `neither ${redact(sources[0] ?? '')} nor its manifest is there`,
  );
}
