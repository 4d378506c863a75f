import { createPublicKey, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Tpm } from '../../../agent/tpm/commands.ts';
import { loadEndorsementKey, makeAttestationKey } from '../../../agent/tpm/machine-keys.ts';
import { ALGORITHM } from '../../../formats/tpm/numbers.ts';
import { encodePublicArea, nameOf, publicKeyHash, publicKeyOf } from '../../../formats/tpm/public-area.ts';
import { decodeQuote, encodeQuote } from '../../../formats/tpm/quote.ts';
import { decodeSignature, isSignedBy } from '../../../formats/tpm/signature.ts';
import { leftovers } from '../../../lab/qemu/processes.ts';
import { SoftwareTpm } from '../../../lab/tpm/software-tpm.ts';

/** What our own commands give, against what tpm2-tools say of the same TPM. */
let software: SoftwareTpm;

beforeAll(async () => {
  software = await SoftwareTpm.start();
});
afterAll(async () => {
  await software[Symbol.asyncDispose]();
  expect(leftovers()).toEqual([]);
});

async function withTpm<T>(work: (tpm: Tpm) => Promise<T>): Promise<T> {
  await using device = await software.open();
  return await work(new Tpm(device));
}

const hashOfPem = (name: string) => publicKeyHash(createPublicKey(readFileSync(software.path(name))));

test.each(['rsa', 'ecc'] as const)(
  'the %s endorsement key is the one that tpm2_createek makes',
  async (kind) => {
    await software.tool('tpm2_createek', '-G', kind, '-c', `${kind}.ctx`, '-u', `${kind}.pem`, '-f', 'pem');
    await software.tool('tpm2_flushcontext', '-t');
    const ours = await withTpm(async (tpm) => {
      const key = await loadEndorsementKey(tpm, [kind]);
      await tpm.flush(key.handle);
      return key;
    });
    const key = publicKeyOf(ours.area);
    expect(key && publicKeyHash(key)).toBe(hashOfPem(`${kind}.pem`));
    expect(ours).toMatchObject({ certificate: undefined, isPersistent: false });
  },
);

test('a key that lies in the TPM for good is used, and another kind of key in its place is not', async () => {
  await software.tool('tpm2_createek', '-G', 'rsa', '-c', '0x81010001', '-u', 'kept.pem', '-f', 'pem');
  await software.tool('tpm2_createek', '-G', 'rsa', '-c', '0x81010002', '-u', 'other.pem', '-f', 'pem');
  await software.tool('tpm2_flushcontext', '-t');
  await withTpm(async (tpm) => {
    const kept = await loadEndorsementKey(tpm, ['rsa']);
    expect(kept).toMatchObject({ handle: 0x81010001, isPersistent: true });
    const made = await loadEndorsementKey(tpm, ['ecc']);
    expect(made).toMatchObject({ isPersistent: false, area: { key: { kind: 'ecc' } } });
    await tpm.flush(made.handle);
  });
});

test('the certificate is read from NV in several parts, without what stands behind it', async () => {
  const body = randomBytes(1200);
  const certificate = Buffer.concat([Buffer.from([0x30, 0x82, 1200 >> 8, 1200 & 0xff]), body]);
  writeFileSync(software.path('certificate'), Buffer.concat([certificate, Buffer.alloc(100)]));
  await software.tool(
    ...(['tpm2_nvdefine', '0x01c00002', '-C', 'o', '-s', String(certificate.length + 100)] as const),
    ...['-a', 'ownerread|ownerwrite|authread'],
  );
  await software.tool('tpm2_nvwrite', '0x01c00002', '-C', 'o', '-i', 'certificate');
  const key = await withTpm((tpm) => loadEndorsementKey(tpm, ['rsa']));
  expect(key.certificate?.equals(certificate)).toBe(true);
});

test('a credential of tpm2_makecredential is opened, for this attestation key only', async () => {
  const secret = randomBytes(32);
  writeFileSync(software.path('secret'), secret);
  const { area, name } = await withTpm(async (tpm) => {
    const ek = await loadEndorsementKey(tpm);
    const ak = await makeAttestationKey(tpm);
    await tpm.flush(ak.handle);
    return { area: ek.area, name: nameOf(ak.area) };
  });
  const bytes = encodePublicArea(area);
  writeFileSync(
    software.path('ek.pub'),
    Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]),
  );
  const made = async (of: Buffer) => {
    const target = ['-u', 'ek.pub', '-s', 'secret', '-n', of.toString('hex'), '-o', 'credential'];
    await software.tool('tpm2_makecredential', '-Q', ...target);
    // "BADCC0DE", version, TPM2B_ID_OBJECT, TPM2B_ENCRYPTED_SECRET
    const file = readFileSync(software.path('credential'));
    const idSize = file.readUInt16BE(8);
    return { idObject: file.subarray(10, 10 + idSize), encryptedSeed: file.subarray(12 + idSize) };
  };
  const good = await made(name);
  const forAnother = await made(Buffer.concat([name.subarray(0, 2), randomBytes(32)]));
  await withTpm(async (tpm) => {
    const ek = await loadEndorsementKey(tpm);
    const ak = await makeAttestationKey(tpm);
    expect(nameOf(ak.area)).toEqual(name); // the same in every boot
    const opened = await tpm.activateCredential(ak, ek, good.idObject, good.encryptedSeed);
    expect(opened.equals(secret)).toBe(true);
    await expect(
      tpm.activateCredential(ak, ek, forAnother.idObject, forAnother.encryptedSeed),
    ).rejects.toMatchObject({
      code: 'KND_TPM_FAILED',
      message: expect.stringMatching(/^TPM2_ActivateCredential /),
    });
    await tpm.flush(ak.handle);
  });
});

test('tpm2_checkquote believes our quote, and the registers are those of tpm2_pcrread', async () => {
  const measured = 'ab'.repeat(32);
  await software.tool('tpm2_pcrextend', `4:sha256=${measured}`);
  const pcrs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const selection = { hash: ALGORITHM.sha256, pcrs };
  const nonce = randomBytes(32);
  const { key, signed, values } = await withTpm(async (tpm) => {
    const ak = await makeAttestationKey(tpm);
    const signed = await tpm.quote(ak, nonce, selection);
    const values = await tpm.readPcrs(selection);
    await tpm.flush(ak.handle);
    return { key: publicKeyOf(ak.area), signed, values };
  });
  writeFileSync(software.path('ak.pem'), key?.export({ type: 'spki', format: 'pem' }) ?? '');
  writeFileSync(software.path('quote'), signed.quote);
  writeFileSync(software.path('signature'), signed.signature);
  const quoted = ['-m', 'quote', '-s', 'signature', '-q', nonce.toString('hex')];
  await software.tool('tpm2_checkquote', '-u', 'ak.pem', ...quoted, '-g', 'sha256');
  await expect(
    software.tool('tpm2_checkquote', '-u', 'ak.pem', ...quoted.slice(0, -1), randomBytes(32).toString('hex')),
  ).rejects.toThrow();
  expect(key && isSignedBy(key, signed.quote, decodeSignature(signed.signature))).toBe(true);
  const decoded = decodeQuote(signed.quote);
  expect(encodeQuote(decoded).equals(signed.quote)).toBe(true);
  expect(decoded).toMatchObject({ extraData: nonce, selections: [selection] });
  expect([...values.keys()]).toEqual(pcrs);
  const told = await software.tool('tpm2_pcrread', 'sha256:4');
  expect(told.toLowerCase()).toContain(values.get(4)?.toString('hex'));
});
