/** A GUID as text: the first three fields are little-endian (UEFI 2.10, appendix A). */
export function guidAt(bytes: Buffer, at: number): string {
  const hex = (from: number, to: number) => bytes.subarray(at + from, at + to).toString('hex');
  const swapped = (from: number, to: number) =>
    Buffer.from(bytes.subarray(at + from, at + to))
      .reverse()
      .toString('hex');
  return `${swapped(0, 4)}-${swapped(4, 6)}-${swapped(6, 8)}-${hex(8, 10)}-${hex(10, 16)}`;
}

/** The bytes of a GUID: the first three fields little-endian (UEFI 2.10, appendix A). The reverse of guidAt. */
export function guidToBytes(guid: string): Buffer {
  const [a = '', b = '', c = '', d = '', e = ''] = guid.split('-');
  const swapped = [a, b, c].map((field) => Buffer.from(field, 'hex').reverse());
  return Buffer.concat([...swapped, Buffer.from(d, 'hex'), Buffer.from(e, 'hex')]);
}
