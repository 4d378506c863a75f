import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import ffi from 'node:ffi';
import { readdirSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { readOwnText } from '../../../system/own-file.ts';
import { startWorker } from '../../../system/worker.ts';

// Not the agent: a program that tells, from inside the one-file executable, what works there.

async function probe() {
  const worker = startWorker('test/initrd/executable/probe.worker.ts', { workerData: { power: 10 } });
  const [fromWorker] = await once(worker, 'message');
  const child = spawnSync(process.execPath, ['child'], { encoding: 'utf8' });
  const libc = ffi.dlopen(null, { getpid: { arguments: [], return: 'int32' } }).functions;
  return {
    execPath: process.execPath,
    files: readdirSync('/').sort(),
    pid: process.pid,
    fromWorker,
    child: child.stdout,
    ffiPid: libc['getpid']?.(),
    zstd: zstdDecompressSync(zstdCompressSync('zstd')).toString(),
    sha256: createHash('sha256').update('').digest('hex').slice(0, 8),
    loopback: (await lookup('127.0.0.1')).address,
    date: new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'Europe/Berlin' }).format(0),
    otherLanguage: (1234.5).toLocaleString('de'),
    sorted: ['b', 'ä', 'Z', 'a'].sort(new Intl.Collator('en').compare).join(''),
    normalized: 'é'.normalize('NFD').length,
    caseless: /STRASSE\p{Letter}/iu.test('strasseß'),
    url: new URL('http://bücher.example/').host,
    latin1: new TextDecoder('latin1').decode(Buffer.from([0xe4])),
    utf16: new TextDecoder('utf-16le').decode(Buffer.from('ü', 'utf16le')),
    script: readOwnText('system/first-boot/first-boot.sh').slice(0, 9),
    environmentOption: process.execArgv.join(' '),
  };
}

if (process.argv[2] === 'child') process.stdout.write('I am the child');
else probe().then((facts) => process.stdout.write(`PROBE ${JSON.stringify(facts)}\n`));
