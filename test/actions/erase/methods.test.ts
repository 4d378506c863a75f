import { describe, expect, it } from 'vitest';
import { chooseMethod, type EraseCapabilities } from '../../../actions/erase/methods.ts';
import type { AdminCommand } from '../../../actions/erase/nvme-admin.ts';
import {
  formatNvme,
  readNvmeCapabilities,
  readSanitizeState,
  startSanitize,
} from '../../../actions/erase/nvme-commands.ts';
import { namespacesBeside } from '../../../actions/erase/nvme-namespaces.ts';
import { parseHdparmSecurity } from '../../../actions/resources/ata-password.ts';
import { disk } from '../disks/disk-fixture.ts';

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

describe('namespaces of one NVMe controller', () => {
  const nvme = { format: true, cryptoFormat: true, sanitize: 'block', formatsAll: true } as const;
  const shared = { ...none, nvme, keptNamespaces: ['/dev/nvme0n2'] };

  it.each(['nvme-sanitize', 'nvme-format', 'nvme-crypto'] as const)(
    '%s is refused where it would take one along that is to stay',
    (method) => {
      expect(() => chooseMethod(method, '/dev/nvme0n1', shared)).toThrow(/nvme0n2 is to stay/);
      expect(chooseMethod(method, '/dev/nvme0n1', { ...shared, keptNamespaces: [] })).toBe(method);
    },
  );

  it('a format of one namespace alone is no danger to the others', () => {
    const alone = { ...shared, nvme: { ...nvme, formatsAll: false } };
    expect(chooseMethod('nvme-format', '/dev/nvme0n1', alone)).toBe('nvme-format');
    expect(() => chooseMethod('nvme-sanitize', '/dev/nvme0n1', alone)).toThrow(/is to stay/);
    expect(readNvmeCapabilities('x', () => Buffer.alloc(4096, 2))?.formatsAll).toBe(true);
  });

  it('are told by their names from other disks', () => {
    const kept = ['nvme0n2', 'nvme1n1', 'nvme10n1', 'sda'].map((name) => disk({ name }));
    expect(namespacesBeside({ name: 'nvme0n1' }, kept)).toEqual(['/dev/nvme0n2']);
    expect(namespacesBeside({ name: 'nvme1n2' }, kept)).toEqual(['/dev/nvme1n1']);
    expect(namespacesBeside({ name: 'sdb' }, kept)).toEqual([]);
  });
});

describe('capabilities', () => {
  /** A controller that answers Identify with these fields. */
  const controller =
    (oacs: number, fna: number, sanicap: number): AdminCommand =>
    () => {
      const data = Buffer.alloc(4096);
      data.writeUInt16LE(oacs, 256);
      data.writeUInt8(fna, 524);
      data.writeUInt32LE(sanicap, 328);
      return data;
    };

  it('NVMe: format, crypto erase and sanitize by their bits', () => {
    expect(readNvmeCapabilities('x', controller(0x122, 4, 3))).toEqual({
      format: true,
      cryptoFormat: true,
      formatsAll: false,
      sanitize: 'block',
    });
    expect(readNvmeCapabilities('x', controller(0, 0, 0))).toEqual({
      format: false,
      cryptoFormat: false,
      formatsAll: false,
      sanitize: undefined,
    });
  });

  it('an NVMe format names its secure erase and keeps the sector format', async () => {
    const sent: unknown[] = [];
    await formatNvme('x', 1, 1, (_, command) => {
      sent.push(command);
      const namespace = Buffer.alloc(4096);
      namespace.writeUInt8(0x13, 26);
      namespace.writeUInt8(0x09, 29);
      return namespace;
    });
    expect(sent[1]).toMatchObject({ opcode: 0x80, nsid: 1, cdw10: 0x13 | (9 << 5) | (1 << 9) });
  });

  it.each([
    ['block', 2],
    ['overwrite', 0x13], // one pass: none would mean sixteen
    ['crypto', 4],
  ] as const)('a sanitize by %s is command dword 0x%x, for the whole controller', (how, cdw10) => {
    const sent: unknown[] = [];
    startSanitize('x', how, (_, command) => {
      sent.push(command);
      return Buffer.alloc(0);
    });
    expect(sent).toEqual([{ opcode: 0x84, nsid: 0, cdw10 }]);
  });

  it('a sanitize is followed until the log says it is over', () => {
    const log =
      (progress: number, status: number): AdminCommand =>
      () => {
        const data = Buffer.alloc(512);
        data.writeUInt16LE(progress, 0);
        data.writeUInt16LE(status, 2);
        return data;
      };
    expect(readSanitizeState('x', log(32768, 2))).toEqual({ state: 'running', percent: 50 });
    expect(readSanitizeState('x', log(65535, 0x101)).state).toBe('done');
    expect(readSanitizeState('x', log(0, 3)).state).toBe('failed');
  });

  it('ATA: the security section of hdparm, where “not” in front turns a word round', () => {
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
