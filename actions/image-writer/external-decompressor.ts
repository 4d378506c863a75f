import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { KindlingError } from '../../protocol/error.ts';
import { type DecompressorInput, PipeInput, StreamInput } from './decompressor-input.ts';
import { openPipe, type Pipe } from './pipe.ts';

const TAIL_BYTES = 64;
/** What xz says of damage, and never of an end that came too early. */
const DAMAGE_BY_NAME = /Compressed data is corrupt|File format not recognized/;

/** Programs that decompress from standard input to standard output, best first. */
const PROGRAMS: readonly { argv: readonly string[]; needs: RegExp; package: string }[] = [
  // several threads where the file has several blocks; bounded, so that 512 MB of RAM are enough
  {
    argv: ['xz', '-dc', '-T0', '--memlimit-mt-decompress=96MiB'],
    needs: /XZ Utils\) (5\.[4-9]|5\.\d\d|[6-9])/,
    package: 'xz-utils',
  },
  { argv: ['xz', '-dc'], needs: /./, package: 'xz-utils' },
  { argv: ['busybox', 'unxz', '-c'], needs: /./, package: 'busybox-static' },
];

/**
 * xz with filters that our decoder does not have is decompressed by the system's own programs where its library is missing, on all cores if they can.
 * Spawned here and not through `Run`, because bytes stream through it.
 */
export class ExternalDecompressor {
  readonly #child: ChildProcess;
  readonly #input: DecompressorInput;
  readonly #outputPipe: Pipe | undefined = openPipe();
  readonly command: string;
  #stderr = '';
  #hasEnded = false;
  #lastBytes = Buffer.alloc(0);

  constructor() {
    const [program = '', ...args] = findProgram();
    this.command = [program, ...args].join(' ');
    const inputPipe = openPipe();
    this.#child = spawn(program, args, {
      stdio: [inputPipe?.readFd ?? 'pipe', this.#outputPipe?.writeFd ?? 'pipe', 'pipe'],
    });
    // the program has them now; its end is the end of the pipes
    if (inputPipe) closeSync(inputPipe.readFd);
    if (this.#outputPipe) closeSync(this.#outputPipe.writeFd);
    this.#input = inputPipe
      ? new PipeInput(inputPipe.c, inputPipe.writeFd)
      : new StreamInput(this.#child.stdin as Writable);
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-2000);
    });
  }

  get blockedMs(): number {
    return this.#input.blockedMs;
  }

  /** Takes as much as fits; after less than all, `onRoom` is called when it can take more. */
  write(bytes: Buffer, onRoom: () => void): number {
    const taken = this.#input.write(bytes, onRoom);
    const last = bytes.subarray(Math.max(0, taken - TAIL_BYTES), taken);
    this.#lastBytes = Buffer.concat([this.#lastBytes, last]).subarray(-TAIL_BYTES);
    return taken;
  }

  end(): void {
    this.#hasEnded = true;
    this.#input.end();
  }

  /** Where to read the output from; undefined: it has to be pumped. */
  get outputFd(): number | undefined {
    return this.#outputPipe?.readFd;
  }

  /** Waits for the program's end. Without a pipe every byte of output is handed on; `take` may answer with a promise to wait for. */
  async finished(take: (bytes: Buffer) => Promise<void> | undefined): Promise<void> {
    const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>();
    this.#child.once('close', resolve).once('error', reject);
    closed.catch(() => {});
    for await (const bytes of (this.#child.stdout ?? []) as AsyncIterable<Buffer>) {
      const wait = take(bytes);
      if (wait) await wait;
    }
    const exitCode = await closed;
    if (exitCode !== 0) throw this.#complaint(exitCode);
    // busybox takes whatever is no further stream for the end, and says nothing
    const isPadding = this.#lastBytes.every((byte) => byte === 0);
    if (this.#hasEnded && !isPadding && !endsProperly(this.#lastBytes)) {
      throw new KindlingError('KND_IMAGE_CORRUPT', 'something follows the end of the image’s xz data');
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Call when nobody reads the output any more. */
  close(): void {
    this.#input.end();
    if (this.#outputPipe) closeSync(this.#outputPipe.readFd);
  }

  #complaint(exitCode: number | null): KindlingError {
    const said = this.#stderr.trim().split('\n').at(-1) ?? '';
    // not every program tells the two apart: an end that does not look like one is a file cut off
    const isTruncated = this.#hasEnded && !endsProperly(this.#lastBytes) && !DAMAGE_BY_NAME.test(said);
    return new KindlingError(
      isTruncated ? 'KND_IMAGE_TRUNCATED' : 'KND_IMAGE_CORRUPT',
      isTruncated
        ? `the image ends in the middle of its xz data`
        : `the image’s xz data is damaged: ${said || `exit code ${exitCode}`}`,
    );
  }
}

/** xz-file-format 2.1.2.4: the footer ends with «YZ», padding of zeros may follow. */
export function endsProperly(lastBytes: Buffer): boolean {
  return /YZ\0*$/.test(lastBytes.toString('latin1'));
}

function findProgram(): readonly string[] {
  for (const { argv, needs } of PROGRAMS) {
    const [program = ''] = argv;
    const { error, stdout, stderr } = spawnSync(program, [program === 'busybox' ? '--help' : '--version'], {
      encoding: 'utf8',
      input: '',
    });
    if (!error && needs.test(`${stdout}${stderr}`)) return argv;
  }
  throw new KindlingError(
    'KND_TOOL_MISSING',
    `nothing here can decompress xz: install ${PROGRAMS.map((entry) => entry.package).join(' or ')}`,
  );
}
