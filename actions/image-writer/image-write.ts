import { makeBootable, makeUnbootable } from './bootable.ts';
import { checkHead } from './check-head.ts';
import type { ImageFormat, WriteImageContext, WriteImageRequest, WriteImageResult } from './interface.ts';
import { closingLine, findBottleneck, ProgressReporter, type ProgressSample } from './progress.ts';
import type { Target } from './target/target.ts';
import { Withheld } from './target/withheld.ts';

/** The running figures of a write. */
export type ImageFigures = Omit<ProgressSample, 'phase' | 'readBack'>;

/** What is on the disk already. */
export interface DiskContent {
  /** The image is there as it should be: nothing is to be written. */
  isIntact: boolean;
  /** What is before this byte is spared when the end of the disk is wiped. */
  keptUntil: number;
}

/** How the bytes of an image get to the disk: as one stream (plain), or by chunks. Its steps are called once, in this order. */
export interface ImageBody {
  /** For messages. */
  readonly source: string;
  /** Gives the first bytes of the image; the disk is only read. */
  readHead: () => Promise<{ head: Buffer; format: ImageFormat }>;
  /** Throws if nothing will tell whether all of the image came. */
  checkEnd?: (neededBytes: number) => void;
  /** The last look at the disk as it was: keeps what of the image is there and would be wiped. */
  lookAtDisk: (withheld: Withheld) => DiskContent;
  /** Writes everything but what is withheld, which it keeps; answers how long the image is. */
  write: (withheld: Withheld) => Promise<number>;
  /** Throws unless what came, and what is on the disk if that is asked for, is what was expected. */
  verify: (withheld: Withheld, neededBytes: number) => Promise<void>;
  /** The disk boots: serves neighbors for a while. */
  linger?: () => Promise<void>;
  /** Ends whatever still runs; nothing is on its way to the disk afterwards. */
  close: () => Promise<void>;
  figures: () => ImageFigures;
  outcome: () => Pick<WriteImageResult, 'format' | 'source' | 'bytesRaw' | 'resumes' | 'sha256' | 'chunks'>;
}

/** One write of one image, plain or by chunks: until everything is verified, the disk is as it was or does not boot. */
export class ImageWrite {
  readonly #request: WriteImageRequest;
  readonly #context: WriteImageContext;
  readonly #target: Target;
  readonly #body: ImageBody;
  readonly #startedAt = performance.now();
  #phase: ProgressSample['phase'] = 'checking';

  constructor(request: WriteImageRequest, context: WriteImageContext, target: Target, body: ImageBody) {
    this.#request = request;
    this.#context = context;
    this.#target = target;
    this.#body = body;
  }

  /** Whether the disk is as it was. */
  get isUntouched(): boolean {
    return this.#phase === 'checking';
  }

  async run(): Promise<WriteImageResult> {
    const body = this.#body;
    const target = this.#target;
    const progress = new ProgressReporter(this.#context.onProgress, () => this.#sample());
    const enter = (phase: ProgressSample['phase']) => {
      this.#phase = phase;
      if (phase === 'syncing' || phase === 'done') progress.report();
    };
    try {
      // 1 the gate: does the image fit this disk, and is the disk still the one that was planned?
      const { head, format } = await body.readHead();
      const table = await checkHead(head, format, target, body.source);
      body.checkEnd?.(table?.neededBytes ?? 0);
      const withheld = Withheld.of(target, table?.sectorSize);
      const { isIntact, keptUntil } = body.lookAtDisk(withheld);
      if (isIntact) {
        enter('done');
        return this.#result(false);
      }
      await this.#context.checkTarget?.();
      // 2 from here on the disk does not boot
      enter('writing');
      makeUnbootable(target, keptUntil);
      // 3 everything goes to the disk but what is withheld
      const length = await body.write(withheld);
      // 4 nothing is believed until length, hash, signature and table agree, and what is read back if asked for
      enter('verifying');
      await body.verify(withheld, table?.neededBytes ?? 0);
      // 5 only now it may boot
      enter('syncing');
      const gptMoved = makeBootable(target, withheld.parts(length), this.#request.moveBackupGpt !== false);
      enter('done');
      const result = this.#result(gptMoved);
      await body.linger?.();
      return result;
    } finally {
      progress.stop();
      await body.close();
    }
  }

  #sample(): ProgressSample {
    return { ...this.#body.figures(), phase: this.#phase, readBack: this.#request.readBack };
  }

  #result(gptMoved: boolean): WriteImageResult {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const { bytesFetched, bytesWritten, waits } = this.#body.figures();
    const outcome = this.#body.outcome();
    const limitedBy = findBottleneck(waits);
    return {
      ...outcome,
      bytesFetched,
      bytesWritten,
      seconds,
      limitedBy,
      gptMoved,
      closingLine: closingLine(outcome.bytesRaw, seconds, limitedBy),
    };
  }
}
