import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { toErrorReport } from '../../../protocol/error.ts';
import { chooseDecoder } from '../decoders/choose-decoder.ts';
import { Withheld } from '../target/withheld.ts';
import { BlockOutput } from './block-output.ts';
import { RingReader } from './ring.ts';
import type { GateAnswer, StreamTask, StreamWorkerMessage } from './stream-task.ts';

/** The thread that decompresses and writes. It blocks on the ring, so nothing else runs here. */
async function work(task: StreamTask, port: MessagePort): Promise<void> {
  const input = new RingReader(task.ring);
  const say = (message: StreamWorkerMessage) => port.postMessage(message);
  const output = new BlockOutput({
    target: { ...task.target, close: () => {} },
    targetIsZero: task.targetIsZero,
    wantsRawHash: task.wantsRawHash,
    hashEvery: task.hashEvery,
    onWritten: (bytes) => input.add('bytesWritten', bytes),
    onRaw: (bytes) => input.add('bytesRaw', bytes),
    onDiskWait: (ms) => input.add('diskWaitMs', ms),
    openGate: async (head) => {
      const answer = once(port, 'message');
      say({ kind: 'head', head: Buffer.from(head) });
      const [gate] = (await answer) as [GateAnswer];
      return new Withheld(gate.withheld);
    },
  });
  await chooseDecoder(task.decoding)(input, output);
  await output.finish();
  say({
    kind: 'done',
    rawSha256: output.rawSha256,
    blockHashes: output.blockHashes,
    rawLength: output.position,
  });
}

if (parentPort) {
  const port = parentPort;
  work(workerData as StreamTask, port)
    .catch((thrown: unknown) => port.postMessage({ kind: 'failed', error: toErrorReport(thrown) }))
    .finally(() => port.close());
}
