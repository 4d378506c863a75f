import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../protocol/error.ts';
import { generateFolder } from './generated-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const PROTOCOL = join(ROOT, 'protocol');
const GENERATED = join(PROTOCOL, 'generated');
const GENERATOR = join(ROOT, 'node_modules/@bufbuild/protoc-gen-es');

/**
 * Makes protocol/generated from protocol/**.proto. JavaScript with declarations, because the generator's TypeScript has
 * enums, which Node cannot strip.
 */
export function generateProtocol(): void {
  const files = globSync('**/*.proto', { cwd: PROTOCOL }).sort();
  const madeFrom = [
    join(GENERATOR, 'package.json'),
    import.meta.filename,
    ...files.map((file) => join(PROTOCOL, file)),
  ];
  generateFolder(GENERATED, madeFrom, (fresh) => {
    for (const file of files) generateFile(file, fresh);
  });
}

// One file at a time: the two Tinkerbell dialects define the same service name and cannot be compiled together.
function generateFile(file: string, out: string): void {
  const plugin = join(GENERATOR, 'bin/protoc-gen-es');
  const template = {
    version: 'v2',
    plugins: [{ local: [process.execPath, plugin], out, opt: ['target=js+dts', 'import_extension=js'] }],
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
      { hint: 'If the message names a line of the file, correct it; otherwise run npm ci again.' },
    );
  }
}
