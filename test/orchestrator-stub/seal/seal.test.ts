import { describe, expect, test } from 'vitest';
import {
  isSealed,
  makeSealingKey,
  parseSealingKeys,
  placeOf,
  Seal,
  type SealingKeys,
} from '../../../orchestrator-stub/seal/seal.ts';

const [OLD, NEW] = [makeSealingKey(), makeSealingKey()];
const HERE = placeOf('clients', 'a');
const code = (value: string) => expect.objectContaining({ code: value });

describe('a sealed value', () => {
  const seal = new Seal([NEW, OLD]);

  test('opens where it was sealed, and shows nothing of what it is', () => {
    const sealed = seal.seal('geheim ü', HERE);
    expect(isSealed(sealed)).toBe(true);
    expect(Buffer.from(sealed.split(':')[3] ?? '', 'base64url').toString('latin1')).not.toContain('geheim');
    expect(seal.open(sealed, HERE)).toBe('geheim ü');
    expect(seal.seal('geheim ü', HERE), 'never the same twice').not.toBe(sealed);
  });

  test('does not open in another row, nor where the parts of the place are joined in another way', () => {
    const sealed = seal.seal('s', placeOf('recovery_keys', 'a/b', 'c'));
    for (const other of [placeOf('recovery_keys', 'a', 'b/c'), placeOf('clients', 'a/b', 'c')])
      expect(() => seal.open(sealed, other)).toThrow(code('KND_SEAL_VALUE'));
  });

  test.each([
    ['cut off', (sealed: string) => sealed.slice(0, -30)],
    ['empty', (sealed: string) => sealed.replace(/[^:]*$/, '')],
    ['changed', (sealed: string) => sealed.replace(/.{4}$/, (end) => (end === 'AAAA' ? 'BBBB' : 'AAAA'))],
    ['replaced by a plain one', () => 'secret'],
  ])('that was %s is refused', (_, change) => {
    expect(() => seal.open(change(seal.seal('a secret of some length', HERE)), HERE)).toThrow(
      code('KND_SEAL_VALUE'),
    );
  });

  test('is stale when another key than the newest sealed it, and still opens', () => {
    const sealed = new Seal([OLD]).seal('s', HERE);
    expect([seal.isStale(sealed), seal.open(sealed, HERE)]).toEqual([true, 's']);
    expect(seal.isStale(seal.seal('s', HERE))).toBe(false);
  });

  test('of an unknown key opens once the key file has it: another orchestrator took a new one', () => {
    const sealed = new Seal([NEW]).seal('s', HERE);
    let inFile: SealingKeys = [OLD];
    const other = new Seal([OLD], () => inFile);
    expect(() => other.open(sealed, HERE)).toThrow(code('KND_SEAL_KEY'));
    inFile = [NEW, OLD];
    expect(other.open(sealed, HERE)).toBe('s');
    expect(other.isStale(sealed)).toBe(false);
  });
});

test('a key file has one key per line, and whatever else stands there is refused by its name', () => {
  const keys = parseSealingKeys(`${NEW.text}\n\n  ${OLD.text}\n`, 'f');
  expect(keys.map(({ id }) => id)).toEqual([NEW.id, OLD.id]);
  for (const text of ['', '\n', NEW.text.slice(1), `${NEW.text}\npassword`])
    expect(() => parseSealingKeys(text, '/etc/key')).toThrow(/key file \/etc\/key/);
});
