import { Doubt, doubtUnless, type FreeSpace, type PartitionReader } from './file-system.ts';

/** union swap_header (Linux include/linux/swap.h), for pages of 4 KiB: it fills the first one. */
const PAGE = 4096;
const HEADER = { version: 1024, lastPage: 1028, badPages: 1032, magic: PAGE - 10 } as const;

/** Everything after the header. A hibernated system has another magic, and is not swap to us. */
export async function readSwap(partition: PartitionReader): Promise<FreeSpace> {
  const header = await partition.read(0, PAGE);
  if (header.toString('latin1', HEADER.magic, PAGE) !== 'SWAPSPACE2')
    throw new Doubt('its pages have not 4 KiB, or are those of a sleeping system');
  doubtUnless(header.readUInt32LE(HEADER.version) === 1, 'its version is unknown');
  doubtUnless(header.readUInt32LE(HEADER.badPages) === 0, 'it has bad pages');
  const end = (header.readUInt32LE(HEADER.lastPage) + 1) * PAGE;
  doubtUnless(end > PAGE && end <= partition.size, 'it is larger than its partition');
  return { end, free: [{ start: PAGE, end }] };
}
