import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Fuzzer } from './fuzz.ts';
import { fuzzTargets } from './targets.ts';

const HANG_MS = 10_000;
/** Longer than a decoder waits for its threads. */
const DEADLOCK_MS = 300_000;
/** A larger one is an image, which the seed brings back. */
const COPIED = 2 ** 20;
const FOLDER = join(import.meta.dirname, '../../build/fuzz');

/** Inputs that each target gets before any gets more, if the time is enough. */
const LEAST_INPUTS = 100_000;
const SLICE_MS = 2000;

/**
 * `npm run fuzz -- --minutes 30 [--seed N] [--target NAME]`: the targets take turns. The slow ones get more of them, until all have
 * had 100,000 inputs. One that crashes, hangs or grows is put into build/fuzz, and the command ends with 1.
 * The work is done beside this thread, which sees a hang.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string' }, seed: { type: 'string' }, target: { type: 'string' } },
  });
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const milliseconds = Number(values.minutes ?? 1) * 60_000;
  const current = new SharedArrayBuffer(8 + COPIED);
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { seed, milliseconds, target: values.target, current },
  });
  console.log(`seed ${seed}`);
  const counter = new Int32Array(current, 0, 2);
  let last = { count: -1, at: performance.now(), cpu: process.cpuUsage() };
  const watchdog = setInterval(() => {
    const count = Atomics.load(counter, 0);
    // CPU of the whole process: on a busy machine a nightly run may wait for its turn longer than an input may take.
    const busyMs = process.cpuUsage(last.cpu).user / 1000;
    if (count !== last.count) last = { count, at: performance.now(), cpu: process.cpuUsage() };
    else if (count > 0 && (busyMs > HANG_MS || performance.now() - last.at > DEADLOCK_MS)) {
      const input = Buffer.from(new Uint8Array(current, 8, Atomics.load(counter, 1)));
      console.error(`HANG: ${keep('hang', input)}`);
      process.exit(1);
    }
  }, 500);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  worker.on('message', resolve);
  worker.on('error', reject);
  const found = await promise.finally(() => clearInterval(watchdog));
  await worker.terminate();
  return found > 0 ? 1 : 0;
}

async function work(data: {
  seed: number;
  milliseconds: number;
  target?: string;
  current: SharedArrayBuffer;
}) {
  const { parentPort } = await import('node:worker_threads');
  const counter = new Int32Array(data.current, 0, 2);
  const shown = new Uint8Array(data.current, 8);
  const targets = (await fuzzTargets()).filter(
    ({ name }) => data.target === undefined || name === data.target,
  );
  const fuzzers = targets.map((target) => new Fuzzer(target, data.seed));
  const until = performance.now() + data.milliseconds;
  const watch = (input: Buffer) => {
    Atomics.store(counter, 1, input.length < COPIED ? input.copy(shown) : 0);
    Atomics.add(counter, 0, 1);
  };
  while (performance.now() < until) {
    const going = fuzzers.filter(({ finding }) => !finding);
    const behind = going.filter(({ count }) => count < LEAST_INPUTS);
    if (going.length === 0) break;
    for (const fuzzer of behind.length > 0 ? behind : going) {
      const end = Math.min(until, performance.now() + SLICE_MS);
      await fuzzer.run(() => performance.now() < end, watch);
      if (fuzzer.finding)
        console.error(`${keep(fuzzer.target.name, fuzzer.finding.input)}: ${fuzzer.finding.what}`);
    }
  }
  for (const { target, count, finding } of fuzzers) {
    await target.stop?.();
    const verdict = finding ? 'FOUND' : count < LEAST_INPUTS ? 'few  ' : 'ok   ';
    console.log(`${verdict}  ${target.name.padEnd(16)} ${count.toLocaleString('en')} inputs`);
  }
  parentPort?.postMessage(fuzzers.filter(({ finding }) => finding).length);
}

function keep(name: string, input: Buffer): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name.replaceAll(' ', '-')}-${Date.now()}.bin`);
  writeFileSync(file, input);
  return file;
}

const { isMainThread, workerData } = await import('node:worker_threads');
if (isMainThread) process.exit(await main());
else await work(workerData);
