import { openNativeLibrary } from '../../../system/native-library.ts';

/** Its name since 2011; the Micro-OS carries it for us. */
const LIBRARY = 'liblzma.so.5';

/** lzma/base.h and lzma/container.h; lzma_stream_decoder_mt is there from 5.4 on. */
const FUNCTIONS = {
  lzma_code: { arguments: ['buffer', 'int32'], return: 'int32' },
  lzma_end: { arguments: ['buffer'], return: 'void' },
  lzma_stream_decoder_mt: { arguments: ['buffer', 'buffer'], return: 'int32' },
} as const;

/** lzma_stream and lzma_mt on a 64-bit machine: sizes, and offsets of the fields we touch. */
export const STREAM = { size: 136, nextIn: 0, availIn: 8, nextOut: 24, availOut: 32 } as const;
export const OPTIONS = { size: 128, flags: 0, threads: 4, limitThreading: 64, limitStop: 72 } as const;

/** Go on after the end of a stream, if another one follows. */
export const CONCATENATED = 8;
export const ACTION = { run: 0, finish: 3 } as const;
export const ANSWER = { ok: 0, streamEnd: 1, memoryLimit: 6, noProgress: 10 } as const;

export type LzmaLibrary = NonNullable<ReturnType<typeof lzmaLibrary>>;

/** The system's liblzma, or undefined where there is none of 5.4 or later (or no node:ffi): then a program has to do it. */
export const lzmaLibrary = () => openNativeLibrary(LIBRARY, FUNCTIONS)?.functions;
