import { hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { FrameAnswer, FrameOrder } from './frame.ts';
import { createCompressFrame } from './zstd-frame.ts';

const compressFrame = createCompressFrame();

parentPort?.on('message', ({ id, raw, level }: FrameOrder) => {
  try {
    const stored = compressFrame(raw, level);
    const answer: FrameAnswer = {
      id,
      stored,
      storedSha256: hash('sha256', stored, 'hex'),
      rawSha256: hash('sha256', raw, 'hex'),
    };
    parentPort?.postMessage(answer);
  } catch (thrown) {
    parentPort?.postMessage({ id, failure: String(thrown) } satisfies FrameAnswer);
  }
});
