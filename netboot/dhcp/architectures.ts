/** How a client boots what it is given. */
export type BootBinary = 'undionly.kpxe' | 'ipxe.efi';

interface Architecture {
  name: string;
  /** undefined: a client we know of but have nothing for. */
  binary: BootBinary | undefined;
}

/**
 * Client system architectures of option 93 (RFC 4578 2.1 and IANA's "Processor Architecture Types").
 * Our UEFI binaries are x64: a firmware of 32 bits or of ARM could not start them, and silence tells why in the server's log.
 * EFI byte code (9) is what many x64 firmwares send by an old mistake of the RFC: they are x64.
 */
const ARCHITECTURES = new Map<number, Architecture>([
  [0, { name: 'x86 BIOS', binary: 'undionly.kpxe' }],
  [1, { name: 'NEC PC98', binary: 'undionly.kpxe' }],
  [2, { name: 'Itanium EFI', binary: 'undionly.kpxe' }],
  [3, { name: 'DEC Alpha', binary: 'undionly.kpxe' }],
  [4, { name: 'Arc x86', binary: 'undionly.kpxe' }],
  [5, { name: 'Intel Lean Client', binary: 'undionly.kpxe' }],
  [6, { name: 'x86 UEFI (ia32)', binary: undefined }],
  [7, { name: 'x64 UEFI', binary: 'ipxe.efi' }],
  [8, { name: 'EFI Xscale', binary: undefined }],
  [9, { name: 'x64 UEFI (byte code)', binary: 'ipxe.efi' }],
  [10, { name: 'ARM 32-bit UEFI', binary: undefined }],
  [11, { name: 'ARM 64-bit UEFI', binary: undefined }],
  [12, { name: 'PowerPC Open Firmware', binary: undefined }],
  [13, { name: 'PowerPC ePAPR', binary: undefined }],
  [14, { name: 'POWER OPAL v3', binary: undefined }],
  [15, { name: 'x86 UEFI HTTP (ia32)', binary: undefined }],
  [16, { name: 'x64 UEFI HTTP', binary: 'ipxe.efi' }],
  [17, { name: 'EFI byte code HTTP', binary: undefined }],
  [18, { name: 'ARM 32-bit UEFI HTTP', binary: undefined }],
  [19, { name: 'ARM 64-bit UEFI HTTP', binary: undefined }],
  [20, { name: 'x86 BIOS HTTP', binary: 'undionly.kpxe' }],
  [41, { name: 'Raspberry Pi', binary: undefined }],
]);

/** Raspberry Pi boards send the architecture of a BIOS client; their MAC prefix tells the truth. */
const RASPBERRY_PI_PREFIXES = ['b8:27:eb', 'dc:a6:32', 'e4:5f:01', '28:cd:c1', 'd8:3a:dd'];
const RASPBERRY_PI = 41;

/** The first architecture a client names that we know; undefined when it names none of them. */
export function chooseArchitecture(
  codes: readonly number[],
  mac: string,
): (Architecture & { code: number }) | undefined {
  const candidates = RASPBERRY_PI_PREFIXES.some((prefix) => mac.startsWith(prefix)) ? [RASPBERRY_PI] : codes;
  for (const code of candidates) {
    const architecture = ARCHITECTURES.get(code);
    if (architecture) return { ...architecture, code };
  }
  return undefined;
}
