import { expect, test } from 'vitest';
import { makeNodeKey, nodeKeyCode, openSecret, sealSecret } from '../../protocol/sealed-secret.ts';

test('a sealed secret opens with its key, and with no other', () => {
  const node = makeNodeKey();
  const sealed = sealSecret('s3cret', node.getPublicKey()) ?? Buffer.alloc(0);
  expect(sealed.includes('s3cret')).toBe(false);
  expect(openSecret(sealed, node)).toBe('s3cret');
  expect(openSecret(sealed, makeNodeKey(node.getPrivateKey()))).toBe('s3cret');
  expect(openSecret(sealed, makeNodeKey())).toBeUndefined();
  expect(sealSecret('s3cret', node.getPublicKey())).not.toEqual(sealed);
});

test('a changed or cut one opens with none', () => {
  const node = makeNodeKey();
  const sealed = sealSecret('s3cret', node.getPublicKey()) ?? Buffer.alloc(0);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(openSecret(changed, node), `byte ${at}`).toBeUndefined();
    expect(openSecret(sealed.subarray(0, at), node), `${at} bytes`).toBeUndefined();
  }
});

test('what is no public key gets nothing', () => {
  for (const key of [Buffer.alloc(0), Buffer.alloc(65), Buffer.alloc(65, 4), Buffer.alloc(1000, 4)])
    expect(sealSecret('s3cret', key)).toBeUndefined();
});

test('the code of a key can be read out over a phone', () => {
  expect(nodeKeyCode(makeNodeKey().getPublicKey())).toMatch(/^[0-9A-F]{4}(-[0-9A-F]{4}){3}$/);
});
