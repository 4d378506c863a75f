import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WriteImageRequest } from '../../actions/image-writer/index.ts';
import { type Operation, readTrace } from './trace.ts';

const run = promisify(execFile);
const RECORDER = join(import.meta.dirname, 'record-disk-program.ts');
const WRITER = join(import.meta.dirname, '../../bench/image-write/writer-program.ts');

export interface RecordedWrite {
  operations: Operation[];
  after: Buffer;
}

/** Writes an image onto a disk with this content and sectors of this size, and records what the disk is asked to do. */
export async function recordWrite(
  folder: string,
  before: Buffer,
  sectorSize: number,
  request: Omit<WriteImageRequest, 'target'>,
): Promise<RecordedWrite> {
  const file = join(folder, 'disk');
  const record = join(folder, 'record');
  writeFileSync(file, before);
  writeFileSync(record, '');
  const loop = ['--find', '--show', '--sector-size', String(sectorSize), file];
  const target = execFileSync('losetup', loop, { encoding: 'utf8' }).trim();
  try {
    await run(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--import',
        RECORDER,
        WRITER,
        JSON.stringify({ ...request, target }),
      ],
      { env: { ...process.env, RECORD_DISK: target, RECORD_TO: record } },
    );
    execFileSync('blockdev', ['--flushbufs', target]);
    return { operations: readTrace(readFileSync(record)), after: readFileSync(target) };
  } finally {
    execFileSync('losetup', ['-d', target]);
  }
}
