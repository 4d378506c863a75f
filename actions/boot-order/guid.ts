/** The bytes of a GUID: the first three fields little-endian (UEFI 2.10, appendix A). The reverse of guidAt. */
export function guidToBytes(guid: string): Buffer {
  const [a = '', b = '', c = '', d = '', e = ''] = guid.split('-');
  const swapped = [a, b, c].map((field) => Buffer.from(field, 'hex').reverse());
  return Buffer.concat([...swapped, Buffer.from(d, 'hex'), Buffer.from(e, 'hex')]);
}
