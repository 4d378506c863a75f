const SERIAL_PORT = [0xf8, 0x03]; // 0x3f8, little-endian: COM1
const ORIGIN = 0x7c00; // where the BIOS puts a boot sector
const DATA_SECTOR = [0x00, 0x7e]; // 0x7e00: where we read the second sector to

/**
 * The smallest thing a BIOS machine can boot, for tests of the harness itself: 512 bytes that add one to the first byte of the
 * second sector, print `text` and that byte as a digit, then echo what is typed.
 */
export function countingBootSector(text: string): Buffer {
  const count = [
    ...[0x31, 0xc0], // xor ax, ax
    ...[0x8e, 0xd8], // mov ds, ax
    ...[0x8e, 0xc0], // mov es, ax
    ...[0xbb, ...DATA_SECTOR], // mov bx, 0x7e00
    ...[0xb8, 0x01, 0x02], // mov ax, 0x0201: read one sector
    ...[0xb9, 0x02, 0x00], // mov cx, 2: the second one
    ...[0x30, 0xf6], // xor dh, dh
    ...[0xcd, 0x13], // int 0x13
    ...[0xfe, 0x06, ...DATA_SECTOR], // inc byte [0x7e00]
    ...[0xb8, 0x01, 0x03], // mov ax, 0x0301: write one sector
    ...[0xcd, 0x13], // int 0x13
  ];
  return assemble(count, text, [
    ...[0xa0, ...DATA_SECTOR], // mov al, [0x7e00]
    ...[0x04, 0x30], // add al, '0'
    ...[0xba, ...SERIAL_PORT, 0xee], // out COM1, al
    ...[0xb0, 0x0d, 0xee, 0xb0, 0x0a, 0xee], // CR LF
    // echo:
    ...[0xba, 0xfd, 0x03], // mov dx, 0x3fd: line status
    ...[0xec, 0xa8, 0x01], // in al, dx; test al, 1
    ...[0x74, 0xfb], // jz: nothing typed yet
    ...[0xba, ...SERIAL_PORT, 0xec, 0xee], // in al, COM1; out COM1, al
    ...[0xeb, 0xf1], // jmp echo
  ]);
}

/** `before`, then a loop that prints `text`, then `after`; padded to a bootable sector. */
function assemble(before: readonly number[], text: string, after: readonly number[]): Buffer {
  const printLoop = (at: number) => [
    ...[0xbe, at & 0xff, at >> 8], // mov si, text
    ...[0xac], // lodsb
    ...[0x84, 0xc0], // test al, al
    ...[0x74, 0x06], // jz: the end of the text
    ...[0xba, ...SERIAL_PORT, 0xee], // out COM1, al
    ...[0xeb, 0xf5], // jmp lodsb
  ];
  const codeLength = before.length + printLoop(0).length + after.length;
  const code = [...before, ...printLoop(ORIGIN + codeLength), ...after];
  const sector = Buffer.alloc(512);
  sector.set(code);
  sector.write(`${text}\0`, code.length, 'latin1');
  sector.set([0x55, 0xaa], 510);
  return sector;
}
