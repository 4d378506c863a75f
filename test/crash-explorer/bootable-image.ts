import { execFileSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LoopWith } from './loop-with.ts';

const SECTOR = 512;
/** Between the partition table and the first partition, as the second stage of GRUB. */
const SECOND_STAGE_LBA = 40;
const PARTITION_AT = 1024 * 1024;

/**
 * A disk with a partition table that both firmwares start from; with sectors of 4096 bytes only UEFI does. Started, it writes `WHOLE text` to the
 * first serial port and gives the firmware its turn again; a boot sector that does not find its second stage writes HALF.
 */
export function makeBootableImage(
  folder: string,
  { bytes, sectorSize, text }: { bytes: number; sectorSize: number; text: string },
): Buffer {
  const partition = join(folder, 'partition');
  const program = join(folder, 'BOOTX64.EFI');
  writeFileSync(program, efiProgram(`WHOLE ${text} by UEFI\r\n`));
  writeFileSync(partition, '');
  truncateSync(partition, bytes - 2 * PARTITION_AT);
  execFileSync('mkfs.vfat', ['-n', 'ESP', '-S', String(sectorSize), partition], { stdio: 'ignore' });
  execFileSync('mmd', ['-i', partition, '::/EFI', '::/EFI/BOOT']);
  execFileSync('mcopy', ['-i', partition, program, '::/EFI/BOOT/BOOTX64.EFI']);
  const image = diskWithTable(bytes, sectorSize);
  readFileSync(partition).copy(image, PARTITION_AT);
  if (sectorSize === SECTOR) {
    BOOT_SECTOR.copy(image);
    image.write(`WHOLE ${text} by BIOS\r\n\0`, SECOND_STAGE_LBA * SECTOR, 'latin1');
  }
  return image;
}

/** An empty disk with a table; sfdisk learns the size of a sector only from a device. */
function diskWithTable(bytes: number, sectorSize: number): Buffer {
  using loop = new LoopWith(Buffer.alloc(bytes), sectorSize);
  execFileSync('sfdisk', ['--quiet', '--no-reread', '--no-tell-kernel', loop.device], {
    input: `label: gpt\nstart=${PARTITION_AT / sectorSize}, type=uefi\n`,
  });
  return readFileSync(loop.device);
}

/** Writes the text at SI (RSI) to the first serial port, up to a zero. */
const PRINT_16 = 'ac 84c0 7412 88c4 bafd03 ec a820 74fb 88e0 baf803 ee ebe9';
const PRINT_64 = 'ac 84c0 7414 88c4 66bafd03 ec a820 74fb 88e0 66baf803 ee ebe7';

const code = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/** Loads the second stage to 0x8000 (INT 13h, AH=42h), prints it if it is there, and goes on to the next boot device (INT 18h). */
const BOOT_SECTOR = bootSector();

function bootSector(): Buffer {
  const [half, packet] = [0x60, 0x70];
  const absolute = (offset: number) => `${offset.toString(16)}7c`;
  const sector = Buffer.alloc(440);
  code(
    `fc 31c0 8ed8 8ec0 8ed0 bc007c be${absolute(packet)} b442 cd13 be0080 803c57 7403 be${absolute(half)} ${PRINT_16} cd18`,
  ).copy(sector);
  sector.write('HALF\r\n\0', half, 'latin1');
  // how many sectors, where to, and from which
  code('1000 0100 0080 0000').copy(sector, packet);
  sector.writeBigUInt64LE(BigInt(SECOND_STAGE_LBA), packet + 8);
  return sector;
}

/** A PE32+ program of one section (PE format, "Optional Header"): prints, and returns EFI_LOAD_ERROR, so the next boot option has its turn. */
function efiProgram(text: string): Buffer {
  const file = Buffer.alloc(2 * SECTOR);
  file.write('MZ');
  file.writeUInt32LE(0x40, 0x3c);
  file.write('PE\0\0', 0x40);
  const coff = 0x44;
  file.writeUInt16LE(0x8664, coff);
  file.writeUInt16LE(1, coff + 2); // sections
  file.writeUInt16LE(240, coff + 16); // bytes of the optional header
  file.writeUInt16LE(0x22, coff + 18); // a program, anywhere in memory
  const optional = coff + 20;
  file.writeUInt16LE(0x20b, optional);
  file.writeUInt32LE(SECTOR, optional + 4); // bytes of code
  file.writeUInt32LE(0x1000, optional + 16); // where it begins
  file.writeUInt32LE(0x1000, optional + 20);
  file.writeUInt32LE(0x1000, optional + 32); // alignment in memory, and in the file
  file.writeUInt32LE(SECTOR, optional + 36);
  file.writeUInt32LE(0x2000, optional + 56); // bytes in memory, and of the headers
  file.writeUInt32LE(SECTOR, optional + 60);
  file.writeUInt16LE(10, optional + 68); // an EFI application
  file.writeUInt32LE(16, optional + 108);
  const section = optional + 240;
  file.write('.text', section);
  file.writeUInt32LE(SECTOR, section + 8);
  file.writeUInt32LE(0x1000, section + 12);
  file.writeUInt32LE(SECTOR, section + 16);
  file.writeUInt32LE(SECTOR, section + 20);
  file.writeUInt32LE(0x60000020, section + 36);
  // push rsi; lea rsi, [0x100], relative to the next instruction, which is at 8; … pop rsi; mov rax, EFI_LOAD_ERROR; ret
  code(`56 488d3500000000 ${PRINT_64} 5e 48b80100000000000080 c3`).copy(file, SECTOR);
  file.writeInt32LE(0x100 - 8, SECTOR + 4);
  file.write(`${text}\0`, SECTOR + 0x100, 'latin1');
  return file;
}
