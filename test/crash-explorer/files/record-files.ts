import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** What a program asked of the files in a folder, in order. Names are relative to the folder; the folder itself is ''. */
export type FileOperation =
  | { kind: 'create'; name: string; isEmptied: boolean }
  | { kind: 'write'; name: string; position: number; bytes: Buffer }
  | { kind: 'truncate'; name: string; size: number }
  | { kind: 'rename'; name: string; to: string }
  | { kind: 'unlink'; name: string }
  /** A file or a folder; it covers the operations before the one of this number, which had ended when it began. */
  | { kind: 'sync'; name: string; covers: number }
  /** What the program has printed (or another that it started): what it says is acknowledged from here on. */
  | { kind: 'note'; text: string };

const CALLS =
  'openat,open,creat,close,write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,truncate,' +
  'rename,renameat,renameat2,unlink,unlinkat,link,linkat,fallocate,copy_file_range,sendfile';

/** Runs a program of ours under strace and gives what it did to the files in a folder. */
export async function recordFiles(
  folder: string,
  record: string,
  program: string,
  args: readonly string[],
): Promise<FileOperation[]> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program, ...args];
  // Everything in hexadecimal (-xx), whole, with the path of each descriptor (-y).
  const strace = [
    '-f',
    '--seccomp-bpf',
    '-o',
    record,
    '-y',
    '-xx',
    '-s',
    '100000000',
    '-e',
    `trace=${CALLS}`,
  ];
  await promisify(execFile)('strace', [...strace, ...node], { maxBuffer: 2 ** 26 });
  return readRecord(readFileSync(record, 'latin1').split('\n'), folder);
}

/** Reads what strace has written. A call that others ran beside has two lines, its beginning and its end. */
function readRecord(lines: readonly string[], folder: string): FileOperation[] {
  const reader = new RecordReader(folder);
  const begun = new Map<string, { text: string; covers: number }>();
  for (const line of lines) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const unfinished = / ?<unfinished \.\.\.>$/;
    if (unfinished.test(text)) {
      begun.set(thread, { text: text.replace(unfinished, ''), covers: reader.operations.length });
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
    const first = resumed ? begun.get(thread) : undefined;
    const whole = first ? first.text + (resumed?.[1] ?? '') : text;
    reader.read(whole, first?.covers ?? reader.operations.length);
  }
  return reader.operations;
}

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');

class RecordReader {
  readonly operations: FileOperation[] = [];
  readonly #folder: string;
  /** Where the next write(2) of a descriptor goes; 'end' appends. */
  readonly #positions = new Map<string, number | 'end'>();
  readonly #sizes = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(text: string, covers: number): void {
    const [, call = '', args = '', result = ''] = /^(\w+)\((.*)\) += (.*)$/.exec(text) ?? [];
    if (call === '' || result.startsWith('-1') || result.startsWith('?')) return;
    const [, descriptor = '', path = ''] = /^(\d+)<([^>]*)>/.exec(args) ?? [];
    const strings = [...args.matchAll(/"([^"]*)"/g)].map((match) => unhex(match[1] ?? ''));
    if (call === 'write' && descriptor === '1') {
      this.operations.push({ kind: 'note', text: (strings[0] ?? '').toString().trim() });
      return;
    }
    if (call.startsWith('open') || call === 'creat') {
      this.#opened(args, result);
      return;
    }
    if (call.startsWith('rename')) {
      const [name, to] = strings.map((each) => this.#nameOf(each.toString()));
      if (name === undefined || to === undefined) return;
      this.#sizes.set(to, this.#sizes.get(name) ?? 0);
      this.operations.push({ kind: 'rename', name, to });
      return;
    }
    if (call.startsWith('unlink')) {
      const name = this.#nameOf((strings[0] ?? '').toString());
      if (name !== undefined && !args.includes('AT_REMOVEDIR'))
        this.operations.push({ kind: 'unlink', name });
      return;
    }
    const name = descriptor === '' ? undefined : this.#nameOf(unhex(path).toString());
    if (name === undefined || call === 'close') return;
    this.#changed({ call, args, descriptor, name, bytes: strings[0] ?? Buffer.alloc(0), result, covers });
  }

  #opened(args: string, result: string): void {
    const [, descriptor = '', path = ''] = /^(\d+)<([^>]*)>/.exec(result) ?? [];
    const name = this.#nameOf(unhex(path).toString());
    if (name === undefined) return;
    this.#positions.set(descriptor, args.includes('O_APPEND') ? 'end' : 0);
    if (!args.includes('O_CREAT')) return;
    const isEmptied = args.includes('O_TRUNC');
    if (isEmptied || !this.#sizes.has(name)) this.#sizes.set(name, 0);
    this.operations.push({ kind: 'create', name, isEmptied });
  }

  #changed(change: {
    call: string;
    args: string;
    descriptor: string;
    name: string;
    bytes: Buffer;
    result: string;
    covers: number;
  }): void {
    const { call, args, descriptor, name, bytes, result, covers } = change;
    const lastNumber = Number(/(\d+)$/.exec(args)?.[1] ?? 0);
    switch (call) {
      case 'fsync':
      case 'fdatasync':
        this.operations.push({ kind: 'sync', name, covers });
        return;
      case 'ftruncate':
        this.#sizes.set(name, lastNumber);
        this.operations.push({ kind: 'truncate', name, size: lastNumber });
        return;
      case 'pwrite64':
        this.#write(name, lastNumber, bytes.subarray(0, Number(result)));
        return;
      case 'write': {
        const at = this.#positions.get(descriptor) ?? 0;
        const position = at === 'end' ? (this.#sizes.get(name) ?? 0) : at;
        const written = bytes.subarray(0, Number(result));
        if (at !== 'end') this.#positions.set(descriptor, position + written.length);
        this.#write(name, position, written);
        return;
      }
      default:
        throw new Error(`the crash explorer does not know what ${call} does to ${name}`);
    }
  }

  #write(name: string, position: number, bytes: Buffer): void {
    this.#sizes.set(name, Math.max(this.#sizes.get(name) ?? 0, position + bytes.length));
    this.operations.push({ kind: 'write', name, position, bytes });
  }

  #nameOf(path: string): string | undefined {
    if (path === this.#folder) return '';
    return path.startsWith(`${this.#folder}/`) ? path.slice(this.#folder.length + 1) : undefined;
  }
}
