export { decodeChunk } from './chunk';
export { addToCrc64, beginCrc64, finalCrc64, prepare } from './crc64';
