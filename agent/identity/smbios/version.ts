/** The SMBIOS version from the entry point (/sys/firmware/dmi/tables/smbios_entry_point): DSP0134 3.6, section 5.2. */
export function parseSmbiosVersion(entryPoint: Buffer): { major: number; minor: number } | undefined {
  const anchor = entryPoint.subarray(0, 5).toString('latin1');
  const at = anchor === '_SM3_' ? 7 : anchor.startsWith('_SM_') ? 6 : undefined;
  if (at === undefined || entryPoint.length < at + 2) return undefined;
  return { major: entryPoint.readUInt8(at), minor: entryPoint.readUInt8(at + 1) };
}
