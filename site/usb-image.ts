import { randomUUID } from 'node:crypto';
import { mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeGpt } from '../formats/partition-table/gpt-encode.ts';
import { PARTITION_TYPES } from '../formats/partition-table/partition-types.ts';
import { makeFatImage } from '../standalone/usb/fat-image.ts';

const MIB = 1024 * 1024;
/** Below 33 MiB FAT32 is not allowed. */
const ESP_BYTES = 40 * MIB;

/** An image of a USB stick for machines that cannot boot from their network card: the same signed iPXE, the same script. */
export async function makeUsbImage(file: string, tftpFolder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'kindling-usb-'));
  try {
    const partition = {
      number: 1,
      type: PARTITION_TYPES.esp,
      partUuid: randomUUID(),
      partLabel: 'kindling-boot',
      startBytes: MIB,
      sizeBytes: ESP_BYTES,
    };
    const esp = join(work, 'esp.img');
    await makeFatImage(esp, partition, 'KNDBOOT', [
      { path: 'EFI/BOOT/BOOTX64.EFI', source: join(tftpFolder, 'ipxe.efi') },
      { path: 'EFI/BOOT/autoexec.ipxe', source: join(tftpFolder, 'autoexec.ipxe') },
    ]);
    const sizeBytes = 2 * MIB + ESP_BYTES;
    await writeFile(file, '');
    await truncate(file, sizeBytes);
    const table = encodeGpt({ diskGuid: randomUUID(), sectorBytes: 512, sizeBytes, partitions: [partition] });
    await using disk = await open(file, 'r+');
    for (const { offset, bytes } of [{ offset: MIB, bytes: await readFile(esp) }, ...table])
      await disk.write(bytes, 0, bytes.length, offset);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
