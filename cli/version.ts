import { hash, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { parseChecksums } from '../formats/checksum-list.ts';
import { KindlingError } from '../protocol/error.ts';
import { programVersion } from '../system/program-version.ts';
import { readPublicKey } from './key-files.ts';

interface VersionOptions {
  verify?: boolean;
  key?: string;
  sums?: string;
}

/** `kindling version`: what this program is, and whether it is the one that was released. */
export function defineVersion(command: Command): void {
  command
    .option('--verify', 'check this file against the signed list of the release')
    .option('--key <file>', 'public key of the release, from a source that you trust')
    .option('--sums <file>', 'SHA256SUMS of the release, its signature in .sig (default: beside this file)')
    .action(tellVersion);
}

async function tellVersion(options: VersionOptions): Promise<void> {
  console.log(`kindling ${await programVersion()}`);
  console.log(`Node ${process.versions.node}, ${isSea() ? 'in one static file' : 'from the sources'}`);
  if (!options.verify) return;
  if (!isSea())
    throw new KindlingError('KND_USAGE', 'only the one-file program can be compared with a release');
  if (!options.key)
    throw new KindlingError('KND_USAGE', '--verify needs --key, the public key of the release', {
      hint: 'Take it from a source that you trust, not from the folder that you check.',
    });
  const sums = options.sums ?? join(dirname(process.execPath), 'SHA256SUMS');
  const name = verifyFile({
    file: await readFile(process.execPath),
    sums: await readFile(sums, 'utf8'),
    signature: await readFile(`${sums}.sig`, 'utf8'),
    publicKey: await readPublicKey(options.key),
  });
  console.log(`verified: this file is ${name} of the release`);
}

/** The name under which a signed list has a file. Throws when the list is not signed by this key, or does not have the file. */
export function verifyFile(parts: {
  file: Buffer;
  sums: string;
  signature: string;
  publicKey: string;
}): string {
  const signature = Buffer.from(parts.signature, 'base64');
  if (!verify(null, Buffer.from(parts.sums), parts.publicKey, signature))
    throw new KindlingError('KND_RELEASE_SIGNATURE', 'SHA256SUMS is not signed by this key');
  const sha256 = hash('sha256', parts.file, 'hex');
  const found = parseChecksums(parts.sums).find((line) => line.sha256 === sha256);
  if (!found)
    throw new KindlingError('KND_RELEASE_UNKNOWN_FILE', `no file of the release has the SHA-256 ${sha256}`);
  return found.name;
}
