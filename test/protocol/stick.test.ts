import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  decodePayloadHeader,
  decodeStickKey,
  encodePayloadHeader,
  encodeStickKey,
  payloadHeaderBytes,
  type StickManifest,
} from '../../protocol/stick.ts';

const MANIFEST: StickManifest = {
  stickId: 'a',
  createdAt: '2026-01-01',
  createdBy: 'test',
  files: [{ name: 'image/x', offset: 1, size: 2, sha256: 'é' }],
  image: 'image/x',
  machines: [],
};
const { privateKey, publicKey } = generateKeyPairSync('ed25519');

test('a manifest reads back with its key, also from a longer read', () => {
  const header = encodePayloadHeader(MANIFEST, privateKey);
  expect(payloadHeaderBytes(header)).toBe(header.length);
  expect(decodePayloadHeader(Buffer.concat([header, Buffer.alloc(512)]), publicKey)).toEqual(MANIFEST);
});

test('the key fits a kernel command line and comes back the same', () => {
  const text = encodeStickKey(createPublicKey(privateKey));
  expect(text).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(decodePayloadHeader(encodePayloadHeader(MANIFEST, privateKey), decodeStickKey(text))).toEqual(
    MANIFEST,
  );
  expect(() => decodeStickKey('short')).toThrow(expect.objectContaining({ code: 'KND_STICK_SIGNATURE' }));
});

test('one flipped bit anywhere in signature or manifest is found', () => {
  const header = encodePayloadHeader(MANIFEST, privateKey);
  for (let at = 16; at < header.length; at += 7) {
    const changed = Buffer.from(header);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => decodePayloadHeader(changed, publicKey)).toThrow(
      expect.objectContaining({ code: 'KND_STICK_SIGNATURE' }),
    );
  }
});

test('another key, another kind of data, another version', () => {
  const header = encodePayloadHeader(MANIFEST, privateKey);
  const other = generateKeyPairSync('ed25519').publicKey;
  expect(() => decodePayloadHeader(header, other)).toThrow(/another key/);
  expect(() => payloadHeaderBytes(Buffer.alloc(4096))).toThrow(
    expect.objectContaining({ code: 'KND_STICK_INVALID' }),
  );
  const newer = Buffer.from(header);
  newer.writeUInt32LE(2, 8);
  expect(() => payloadHeaderBytes(newer)).toThrow(/version 2/);
});
