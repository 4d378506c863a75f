/** z_stream (zlib.h) on a 64-bit machine: offsets of the fields we touch. */
export const NEXT_IN = 0;
export const AVAIL_IN = 8;
export const NEXT_OUT = 24;
export const AVAIL_OUT = 32;
export const Z_STREAM_SIZE = 112;

/** What inflate answers. */
export const Z_OK = 0;
export const Z_STREAM_END = 1;
export const Z_BUF_ERROR = -5;
