import { expect, test } from 'vitest';
import { Approvals } from '../../../orchestrator-stub/proof/approvals.ts';
import { LocalMessenger } from '../../../orchestrator-stub/store/local-messenger.ts';
import { toHostId } from '../../../protocol/ids.ts';

const rethrow = (thrown: unknown) => {
  throw thrown;
};

const NODE = toHostId('host-11111111');
const OTHER = toHostId('host-22222222');
const tpm = (id: string) => ({ by: 'tpm' as const, id });

test('a code is the machine’s own: the one that shows it is approved, and no other, for this node only', () => {
  const approvals = new Approvals(new LocalMessenger(rethrow), () => new Date(0));
  const real = approvals.codeFor(NODE, tpm('real'));
  approvals.codeFor(NODE, tpm('stranger'));
  expect(real).toMatch(/^\d{6}$/);
  expect(approvals.codeFor(NODE, tpm('real'))).toBe(real); // the same while it asks
  expect(approvals.take(OTHER, real)).toBeUndefined();
  expect(approvals.take(NODE, `${real.slice(0, 3)} ${real.slice(3)}`)).toEqual(tpm('real'));
  expect(approvals.take(NODE, real)).toBeUndefined(); // once
});

test('a machine that no longer asks cannot be approved', () => {
  let now = 0;
  const approvals = new Approvals(new LocalMessenger(rethrow), () => new Date(now));
  const code = approvals.codeFor(NODE, tpm('gone'));
  now = 121_000;
  expect(approvals.take(NODE, code)).toBeUndefined();
});

test('a boot key with the name of a TPM is another machine', () => {
  const approvals = new Approvals(new LocalMessenger(rethrow), () => new Date(0));
  const key = { by: 'boot-key' as const, id: 'real' };
  const code = approvals.codeFor(NODE, key);
  expect(approvals.codeFor(NODE, tpm('real'))).not.toBe(code);
  expect(approvals.take(NODE, code)).toEqual(key);
});
