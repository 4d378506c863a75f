/** What a compressing thread is asked for. */
export interface FrameOrder {
  id: number;
  raw: Uint8Array;
  level: number;
}

export interface Frame {
  stored: Uint8Array;
  storedSha256: string;
  rawSha256: string;
}

export type FrameAnswer = { id: number } & (Frame | { failure: string });
