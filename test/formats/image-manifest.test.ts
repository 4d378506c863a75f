import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  decodeManifest,
  encodeManifest,
  isManifestSignedBy,
  signManifest,
} from '../../formats/image-manifest.ts';

const MIB = 1024 * 1024;
const SHA = 'a'.repeat(64);
const FACTS = { size: 10 * MIB + 5, chunkSize: 4 * MIB, blobSize: 1000, blobSha256: SHA, rawSha256: SHA };
const CHUNKS = [
  { index: 0, offset: 0, length: 400, storedSha256: SHA, rawSha256: SHA },
  { index: 2, offset: 420, length: 580, storedSha256: SHA, rawSha256: SHA },
];
const TEXT = encodeManifest(FACTS, CHUNKS);
const pem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }));

describe('an image manifest', () => {
  test('reads back as it was written', () => {
    const manifest = decodeManifest(TEXT);
    expect(manifest).toMatchObject({ ...FACTS, chunks: CHUNKS, signatures: [] });
    expect(encodeManifest(manifest, manifest.chunks)).toBe(TEXT);
  });

  test('says which version it is and until when it is good, under the same signature', () => {
    const edition = { version: 7, expires: '2027-06-30T23:59:59.999Z' };
    const text = encodeManifest({ ...FACTS, ...edition }, CHUNKS);
    expect(decodeManifest(text)).toMatchObject(edition);
    expect(decodeManifest(text).root).not.toBe(decodeManifest(TEXT).root);
  });

  test('keeps its root when it is signed, once or by several', () => {
    const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    const signed = signManifest(
      signManifest(signManifest(TEXT, first.privateKey), second.privateKey),
      first.privateKey,
    );
    const manifest = decodeManifest(signed);
    expect(manifest.root).toBe(decodeManifest(TEXT).root);
    expect(manifest.signatures).toHaveLength(2);
    expect(isManifestSignedBy(manifest, [pem(second.publicKey)])).toBe(true);
    expect(isManifestSignedBy(manifest, [pem(generateKeyPairSync('ed25519').publicKey)])).toBe(false);
    expect(isManifestSignedBy(decodeManifest(TEXT), [pem(first.publicKey)])).toBe(false);
  });

  test('with any other byte has another root', () => {
    expect(decodeManifest(TEXT.replace('420', '419')).root).not.toBe(decodeManifest(TEXT).root);
  });

  test.each([
    ['another magic', TEXT.replace('manifest 1', 'manifest 9')],
    ['a size of nothing', encodeManifest({ ...FACTS, size: 0 }, [])],
    ['facts that say nothing', TEXT.replace(/\{.*\}/, 'null')],
    ['a partition table at no place', TEXT.replace('}', ',"gpt":{"sectorSize":512,"alternateLba":"x"}}')],
    ['a partition table that is null', TEXT.replace('}', ',"gpt":null}')],
    ['version 0', encodeManifest({ ...FACTS, version: 0 }, CHUNKS)],
    ['a version that is half', encodeManifest({ ...FACTS, version: 1.5 }, CHUNKS)],
    ['an end that is no date', encodeManifest({ ...FACTS, expires: 'soon' }, CHUNKS)],
    ['an end without a time', encodeManifest({ ...FACTS, expires: '2027-06-30' }, CHUNKS)],
    ['facts that are no JSON', TEXT.replace('{', '')],
    ['a chunk size of 3 bytes', TEXT.replace(String(4 * MIB), '3')],
    ['chunks in the wrong order', encodeManifest(FACTS, [...CHUNKS].reverse())],
    ['a chunk beyond the end of the file', TEXT.replace(' 580 ', ' 9580 ')],
    ['a chunk beyond the end of the image', TEXT.replace('\n2 ', '\n77 ')],
    ['a hash that is too short', TEXT.replace(`580 ${SHA}`, '580 abc')],
  ])('with %s is refused', (_, text) => {
    expect(() => decodeManifest(text)).toThrow(/the image manifest is malformed/);
  });
});
