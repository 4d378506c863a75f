import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Tpm } from '../../../agent/tpm/commands.ts';
import { loadEndorsementKey, makeAttestationKey } from '../../../agent/tpm/machine-keys.ts';
import { decodeEventLog, EVENT, replay } from '../../../formats/tpm/event-log.ts';
import { sized } from '../../../formats/tpm/fields.ts';
import { ALGORITHM } from '../../../formats/tpm/numbers.ts';
import { decodePublicArea, nameOf } from '../../../formats/tpm/public-area.ts';
import { leftovers } from '../../../lab/qemu/processes.ts';
import { SoftwareTpm } from '../../../lab/tpm/software-tpm.ts';
import { makeCredential } from '../../../orchestrator-stub/proof/make-credential.ts';
import { eventLog } from '../../formats/tpm/logged.ts';

let software: SoftwareTpm;

beforeAll(async () => {
  software = await SoftwareTpm.start();
});
afterAll(async () => {
  await software[Symbol.asyncDispose]();
  expect(leftovers()).toEqual([]);
});

test.each(['rsa', 'ecc'] as const)('a TPM opens our credential for its %s endorsement key', async (kind) => {
  await using device = await software.open();
  const tpm = new Tpm(device);
  const ek = await loadEndorsementKey(tpm, [kind]);
  const ak = await makeAttestationKey(tpm);
  const secret = randomBytes(32);
  const { idObject, encryptedSeed } = makeCredential(ek.area, nameOf(ak.area), secret);
  expect((await tpm.activateCredential(ak, ek, idObject, encryptedSeed)).equals(secret)).toBe(true);
  await tpm.flush(ak.handle);
  await tpm.flush(ek.handle);
});

test('tpm2_activatecredential opens our credential for the keys that tpm2-tools made', async () => {
  const tool = (program: string, ...args: string[]) => software.tool(program, ...args);
  await tool('tpm2_createek', '-G', 'rsa', '-c', '0x81010001', '-u', 'ek.pub');
  await tool('tpm2_flushcontext', '-t');
  const ak = ['-u', 'ak.pub', '-n', 'ak.name'];
  await tool(
    'tpm2_createak',
    '-C',
    '0x81010001',
    '-c',
    'ak.ctx',
    '-G',
    'ecc',
    '-g',
    'sha256',
    '-s',
    'ecdsa',
    ...ak,
  );
  await tool('tpm2_flushcontext', '-t');
  const ek = decodePublicArea(readFileSync(software.path('ek.pub')).subarray(2));
  const name = readFileSync(software.path('ak.name'));
  expect(nameOf(decodePublicArea(readFileSync(software.path('ak.pub')).subarray(2)))).toEqual(name);
  const secret = randomBytes(32);
  const { idObject, encryptedSeed } = makeCredential(ek, name, secret);
  const head = Buffer.from('badcc0de00000001', 'hex');
  writeFileSync(software.path('credential'), Buffer.concat([head, sized(idObject), sized(encryptedSeed)]));
  await tool('tpm2_startauthsession', '--policy-session', '-S', 'session');
  await tool('tpm2_policysecret', '-S', 'session', '-c', 'e');
  const opened = [
    '-c',
    'ak.ctx',
    '-C',
    '0x81010001',
    '-i',
    'credential',
    '-o',
    'opened',
    '-P',
    'session:session',
  ];
  await tool('tpm2_activatecredential', ...opened);
  expect(readFileSync(software.path('opened')).equals(secret)).toBe(true);
});

test('tpm2_eventlog reads the same registers from a log as we do', async () => {
  const log = eventLog([
    { pcr: 4, type: EVENT.separator, data: Buffer.alloc(4) },
    { pcr: 4, type: EVENT.efiAction, data: Buffer.from('Calling EFI Application from Boot Option') },
    { pcr: 7, type: EVENT.separator, data: Buffer.alloc(4) },
  ]);
  writeFileSync(software.path('log'), log);
  const told = (await software.tool('tpm2_eventlog', 'log')).toLowerCase();
  const registers = replay(decodeEventLog(log), ALGORITHM.sha256);
  expect([...registers.keys()]).toEqual([4, 7]);
  for (const value of registers.values()) expect(told).toContain(value.toString('hex'));
  expect(createHash('sha256').update(Buffer.alloc(4)).digest('hex')).toBe(
    decodeEventLog(log)[0]?.digests.get(ALGORITHM.sha256)?.toString('hex'),
  );
});
