/** Builds raw SMBIOS tables for made-up machines, by the specification and not by our parser. */
export interface StructureSpec {
  type: number;
  /** Length of the formatted area. */
  length: number;
  bytes?: Record<number, number>;
  words?: Record<number, number>;
  doubleWords?: Record<number, number>;
  /** Offset of the field → the text it refers to. */
  strings?: Record<number, string>;
  raw?: Record<number, Buffer>;
}

export function buildTable(specs: readonly StructureSpec[]): Buffer {
  const structures = [...specs, { type: 127, length: 4 }].map((spec, index) => buildStructure(spec, index));
  return Buffer.concat(structures);
}

function buildStructure(spec: StructureSpec, handle: number): Buffer {
  const area = Buffer.alloc(spec.length);
  area.writeUInt8(spec.type, 0);
  area.writeUInt8(spec.length, 1);
  area.writeUInt16LE(handle, 2);
  for (const [at, value] of Object.entries(spec.bytes ?? {})) area.writeUInt8(value, Number(at));
  for (const [at, value] of Object.entries(spec.words ?? {})) area.writeUInt16LE(value, Number(at));
  for (const [at, value] of Object.entries(spec.doubleWords ?? {})) area.writeUInt32LE(value, Number(at));
  for (const [at, value] of Object.entries(spec.raw ?? {})) value.copy(area, Number(at));
  const texts = Object.entries(spec.strings ?? {});
  for (const [index, [at]] of texts.entries()) area.writeUInt8(index + 1, Number(at));
  const strings = texts.map(([, text]) => `${text}\0`).join('') || '\0';
  return Buffer.concat([area, Buffer.from(`${strings}\0`, 'latin1')]);
}

/** A 3.x entry point; only anchor and version matter here. */
export function entryPoint(major: number, minor: number): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.write('_SM3_', 0, 'latin1');
  bytes.writeUInt8(major, 7);
  bytes.writeUInt8(minor, 8);
  return bytes;
}
