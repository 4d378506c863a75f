/** SCSI vital product data as the kernel keeps it in /sys/block/sdX/device/vpd_pg80 and vpd_pg83 (SPC-5, sections 7.7). */
const HEADER_BYTES = 4;

/** Page 0x80: the unit serial number, ASCII. */
export function parseSerialPage(page: Buffer | undefined): string | undefined {
  if (!page || page.length < HEADER_BYTES || page.readUInt8(1) !== 0x80) return undefined;
  const text = page.subarray(HEADER_BYTES, HEADER_BYTES + page.readUInt16BE(2)).toString('latin1');
  return text.replaceAll(/[^\x20-\x7e]/g, '').trim() || undefined;
}

/** Page 0x83: designators; the logical unit's NAA or EUI-64 is the world-wide name. */
export function parseWwnPage(page: Buffer | undefined): string | undefined {
  if (!page || page.length < HEADER_BYTES || page.readUInt8(1) !== 0x83) return undefined;
  const LOGICAL_UNIT = 0;
  const PREFIXES: Record<number, string> = { 2: 'eui', 3: 'naa' };
  let at = HEADER_BYTES;
  while (at + HEADER_BYTES <= page.length) {
    const association = (page.readUInt8(at + 1) >> 4) & 0x3;
    const prefix = PREFIXES[page.readUInt8(at + 1) & 0xf];
    const length = page.readUInt8(at + 3);
    const name = page.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length);
    if (association === LOGICAL_UNIT && prefix && length > 0 && name.length === length)
      return `${prefix}.${name.toString('hex')}`;
    at += HEADER_BYTES + length;
  }
  return undefined;
}
