/** Fetches a file by TFTP and prints how long it took: `node client-program.ts ADDRESS FILE SHA256 '{"blksize":"1468"}'`. */
import { createHash } from 'node:crypto';
import { fetchByTftp } from '../../lab/pxe/tftp-client.ts';

const [address = '', file = '', sha256, options = '{}'] = process.argv.slice(2);
const startedAt = performance.now();
const { content } = await fetchByTftp(file, { address, port: 69, options: JSON.parse(options) });
const ms = performance.now() - startedAt;
if (createHash('sha256').update(content).digest('hex') !== sha256)
  throw new Error('the file arrived damaged');
console.log(JSON.stringify({ ms, bytes: content.length }));
