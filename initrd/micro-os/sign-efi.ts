import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../build-tool.ts';

/** PEM files of a Secure Boot key and its certificate. */
export interface SigningKey {
  key: string;
  certificate: string;
}

/** The EFI program with one signature for each key, so that firmware that trusts any of them starts it. */
export async function signEfiProgram(program: Buffer, keys: readonly SigningKey[]): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-sign-'));
  try {
    const file = join(folder, 'program.efi');
    await writeFile(file, program);
    for (const { key, certificate } of keys)
      await runTool('sbsign', ['--key', key, '--cert', certificate, '--output', file, file]);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
