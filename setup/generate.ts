import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../protocol/error.ts';

const ROOT = join(import.meta.dirname, '..');
const PROTOCOL = join(ROOT, 'protocol');
const GENERATED = join(PROTOCOL, 'generated');
const PLUGIN = join(ROOT, 'node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es');

/**
 * Makes protocol/generated from protocol/**.proto. Offline, and a matter of milliseconds when nothing has changed.
 * JavaScript with declarations, because the generator's TypeScript has enums, which Node cannot strip.
 */
export function generateProtocol(): void {
  const files = globSync('**/*.proto', { cwd: PROTOCOL }).sort();
  const fingerprint = fingerprintOf(files);
  if (readStamp() === fingerprint) return;
  // Built aside and swapped in, so that a second command started meanwhile never sees half of it.
  const fresh = mkdtempSync(join(PROTOCOL, 'generated-'));
  try {
    for (const file of files) generateFile(file, fresh);
    writeFileSync(join(fresh, '.stamp'), fingerprint);
    rmSync(GENERATED, { recursive: true, force: true });
    renameSync(fresh, GENERATED);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

// One file at a time: the two Tinkerbell dialects define the same service name and cannot be compiled together.
function generateFile(file: string, out: string): void {
  const template = {
    version: 'v2',
    plugins: [{ local: [process.execPath, PLUGIN], out, opt: ['target=js+dts', 'import_extension=js'] }],
  };
  const { status, stderr, error } = spawnSync(
    join(ROOT, 'node_modules/.bin/buf'),
    ['generate', '.', '--path', file, '--template', JSON.stringify(template)],
    { cwd: PROTOCOL, encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `code for protocol/${file} could not be generated: ${error?.message ?? stderr.trim()}`,
      { hint: 'If the message names a line of the file, correct it; otherwise run npm install again.' },
    );
  }
}

function fingerprintOf(files: string[]): string {
  const hash = createHash('sha256');
  for (const path of [
    join(ROOT, 'node_modules/@bufbuild/protoc-gen-es/package.json'),
    import.meta.filename,
  ]) {
    hash.update(readFileSync(path));
  }
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(PROTOCOL, file)));
  return hash.digest('hex');
}

function readStamp(): string | undefined {
  try {
    return readFileSync(join(GENERATED, '.stamp'), 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.main) generateProtocol();
