import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { generateFolder } from './generated-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const CONSOLE = join(ROOT, 'console');
const PACKAGES = ['esbuild', 'preact', '@preact/signals', '@preact/signals-core'];

/**
 * Makes console/generated: the page of the console with one script and one style sheet. Their names carry the hash of their
 * content, so that browsers may keep them for ever; each lies there compressed as well, so that nobody compresses it per request.
 */
export function generateConsole(): void {
  const sources = globSync('{console,protocol}/**/*.{ts,tsx,css,html,svg}', {
    cwd: ROOT,
    exclude: (name) => name === 'generated',
  }).sort();
  const madeFrom = [
    import.meta.filename,
    ...PACKAGES.map((name) => join(ROOT, 'node_modules', name, 'package.json')),
    ...sources.map((file) => join(ROOT, file)),
  ];
  generateFolder(join(CONSOLE, 'generated'), madeFrom, (fresh) => {
    bundle(fresh);
    writePage(fresh);
    compressAll(fresh);
  });
}

function bundle(folder: string): void {
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: { console: 'console/main.tsx', style: 'console/style/main.css' },
    outdir: folder,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'error',
  });
}

/** index.html names the script and the style sheet by the names they have got. */
function writePage(folder: string): void {
  const built = readdirSync(folder);
  const nameOf = (start: string) => built.find((file) => file.startsWith(start)) ?? '';
  const page = readFileSync(join(CONSOLE, 'index.html'), 'utf8')
    .replace('CONSOLE_SCRIPT', nameOf('console-'))
    .replace('CONSOLE_STYLE', nameOf('style-'));
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'icon.svg'), readFileSync(join(CONSOLE, 'icon.svg')));
}

function compressAll(folder: string): void {
  for (const file of readdirSync(folder)) {
    const path = join(folder, basename(file));
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}
