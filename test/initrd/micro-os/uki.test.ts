import { describe, expect, it } from 'vitest';
import { addSections, readUkiSections, replaceSections } from '../../../initrd/micro-os/uki.ts';

/** A PE32+ file with one section and room for a few more, as small as the format allows. */
function tinyStub(): Buffer {
  const stub = Buffer.alloc(0x600);
  stub.write('MZ');
  stub.writeUInt32LE(0x40, 0x3c);
  stub.write('PE\0\0', 0x40);
  stub.writeUInt16LE(1, 0x40 + 6); // sections
  stub.writeUInt32LE(0x600, 0x40 + 12); // symbol table behind the last section
  stub.writeUInt16LE(112, 0x40 + 20); // optional header
  const optional = 0x40 + 24;
  stub.writeUInt16LE(0x20b, optional);
  stub.writeUInt32LE(0x200, optional + 36); // file alignment
  stub.writeUInt32LE(0x400, optional + 60); // headers
  const section = optional + 112;
  stub.write('.text', section);
  stub.writeUInt32LE(5, section + 8);
  stub.writeUInt32LE(0x1000, section + 12);
  stub.writeUInt32LE(0x200, section + 16);
  stub.writeUInt32LE(0x400, section + 20);
  stub.write('code!', 0x400);
  return Buffer.concat([stub, Buffer.from('symbols')]);
}

describe('a unified kernel image', () => {
  it('holds the stub’s own sections and ours, each aligned for the firmware', () => {
    const image = addSections(tinyStub(), [
      { name: '.cmdline', contents: Buffer.from('console=ttyS0\0') },
      { name: '.linux', contents: Buffer.alloc(5000, 'k') },
    ]);
    const sections = readUkiSections(image);
    expect(sections.map(({ name }) => name)).toEqual(['.text', '.cmdline', '.linux']);
    expect(sections[0]?.contents.toString()).toBe('code!');
    expect(sections[1]?.contents.toString()).toBe('console=ttyS0\0');
    expect(sections[2]?.contents).toEqual(Buffer.alloc(5000, 'k'));
    expect(image.length % 0x200).toBe(0);
    expect(image.readUInt32LE(0x40 + 24 + 56)).toBe(0x5000); // image: .text 1000, .cmdline 2000, .linux 3000–4388
    expect(image.readUInt32LE(0x40 + 12)).toBe(0); // no symbol table any more
  });

  it('refuses a stub without room, and a file that is no EFI program', () => {
    const many = Array.from({ length: 30 }, (_, index) => ({
      name: `.s${index}`,
      contents: Buffer.alloc(1),
    }));
    expect(() => addSections(tinyStub(), many)).toThrow(/no room/);
    expect(() => addSections(Buffer.alloc(4096), [])).toThrow(/not a 64-bit EFI program/);
  });

  it('can be given another command line and initramfs, and nothing else changes', () => {
    const sections = (commandLine: string, initramfs: string) => [
      { name: '.osrel', contents: Buffer.from('ID=kindling\n') },
      { name: '.cmdline', contents: Buffer.from(commandLine) },
      { name: '.initrd', contents: Buffer.alloc(3000, initramfs) },
      { name: '.linux', contents: Buffer.alloc(5000, 'k') },
    ];
    const original = addSections(tinyStub(), sections('quiet\0', 'a'));
    const changes = { '.cmdline': Buffer.from('debug verbose\0'), '.initrd': Buffer.alloc(3000, 'b') };
    const changed = replaceSections(original, changes);
    expect(changed.equals(addSections(tinyStub(), sections('debug verbose\0', 'b')))).toBe(true);
    expect(() => replaceSections(tinyStub(), changes)).toThrow(/not a unified kernel image/);
  });
});
