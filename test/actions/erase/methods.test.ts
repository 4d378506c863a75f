import { describe, expect, it } from 'vitest';
import { parseHdparmSecurity, parseNvmeController } from '../../../actions/erase/capabilities.ts';
import { chooseMethod, type EraseCapabilities } from '../../../actions/erase/methods.ts';

const none: EraseCapabilities = { discard: false, writeZeroes: false };

describe('the method of an erase', () => {
  it('auto takes discard where the disk has it, else quick', () => {
    expect(chooseMethod('auto', '/dev/sda', { ...none, discard: true })).toBe('discard');
    expect(chooseMethod('auto', '/dev/sda', none)).toBe('quick');
  });

  it.each(['discard', 'nvme-format', 'nvme-crypto', 'nvme-sanitize', 'ata-secure-erase'] as const)(
    '%s on a disk that does not say it can is refused, not tried',
    (method) => {
      expect(() => chooseMethod(method, '/dev/sda', none)).toThrowError(
        expect.objectContaining({ code: 'KND_ERASE_UNSUPPORTED' }),
      );
    },
  );

  it.each([
    ['frozen', /froze/],
    ['locked', /locked/],
  ])('ATA secure erase of a %s disk says what to do', (state, text) => {
    const ata = {
      supported: true,
      enhanced: false,
      frozen: false,
      locked: false,
      enabled: false,
      [state]: true,
    };
    expect(() => chooseMethod('ata-secure-erase', '/dev/sda', { ...none, ata })).toThrow(text);
  });
});

describe('capabilities', () => {
  it('NVMe: format, crypto erase and sanitize by their bits', () => {
    expect(parseNvmeController('{"oacs":290,"fna":4,"sanicap":3}')).toEqual({
      format: true,
      cryptoFormat: true,
      sanitize: 'block',
    });
    // QEMU's disk: Format, no crypto, no sanitize (boot-chain.md 9).
    expect(parseNvmeController('{"oacs":10,"fna":0,"sanicap":0}')).toEqual({
      format: true,
      cryptoFormat: false,
      sanitize: undefined,
    });
    expect(parseNvmeController('error')).toBeUndefined();
  });

  it('ATA: the security section of hdparm, where «not» in front turns a word round', () => {
    const text = (frozen: string) => `
Commands/features:
\tEnabled\tSupported:
\t   *\tSMART feature set
Security:
\tMaster password revision code = 65534
\t\tsupported
\tnot\tenabled
\tnot\tlocked
\t${frozen}\tfrozen
\tnot\texpired: security count
\t\tsupported: enhanced erase
\t2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 500a0751
`;
    const facts = { supported: true, enhanced: true, enabled: false, locked: false };
    expect(parseHdparmSecurity(text('not'))).toEqual({ ...facts, frozen: false });
    expect(parseHdparmSecurity(text(''))).toEqual({ ...facts, frozen: true });
    expect(parseHdparmSecurity('no such section')).toBeUndefined();
  });
});
