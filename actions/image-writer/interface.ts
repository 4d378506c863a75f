import type { RetryPolicy } from '../../net/retry-window.ts';
import type { Run } from '../../system/run.ts';

/** What an image file is, by its first bytes. `iso` is written like `raw`; the word is for people. */
export type ImageFormat = 'raw' | 'gz' | 'bz2' | 'xz' | 'zst' | 'qcow2' | 'iso';

/** What is to be written where, and how sure we want to be. Plain data: it can be logged once secrets are taken out. */
export interface WriteImageRequest {
  /** Addresses of one and the same image: the first is preferred, the others (mirrors) are tried in turn. */
  sources: readonly string[];
  /** The whole disk (or a regular file, in tests and tools). It must exist. */
  target: string;
  expected?: ExpectedImage;
  transport?: Transport;
  retry?: RetryPolicy;
  /** The target is known to read as zeros (just erased and checked): zeros are skipped, not written. Default false. */
  targetIsZero?: boolean;
  /** Move the backup GPT to the end of a target that is larger than the image. Default true. */
  moveBackupGpt?: boolean;
  /** Read back after writing and compare. Default none. */
  readBack?: 'none' | 'sample' | 'all';
  chunks?: ChunkOptions;
}

/** What the image must be. Everything that is given is checked; nothing is bootable before it holds. */
export interface ExpectedImage {
  /** Hex digests of the file as it is downloaded (compressed bytes), as the image2disk contract says. */
  sha256?: string;
  sha512?: string;
  /** Length in bytes of the file as it is downloaded. */
  length?: number;
  /** Hex digest and length of the raw image, after decompression. */
  rawSha256?: string;
  rawLength?: number;
  /** A server that marks no end of the file is believed, though nothing tells whether all of it came. */
  allowsUnknownEnd?: boolean;
  /** Contract variable COMPRESSED, if it was set; a contradiction with the magic bytes is an error. */
  compressed?: boolean;
  /** The format that is expected, if one was named. */
  format?: ImageFormat;
  /** Ed25519 public keys (PEM); if given, `<source>.sig` (or `signatureUrl`) must be made by one of them. */
  signers?: readonly string[];
  signatureUrl?: string;
}

export interface Transport {
  headers?: Readonly<Record<string, string>>;
  /** Basic credentials; those in a source's URL win. */
  basicAuth?: { username: string; password: string };
  bearerToken?: string;
  /** Who gets headers, login and token besides the first source: origins ("https://mirror.example"). A login in a URL goes with that URL. */
  credentialOrigins?: readonly string[];
  /** PEM certificates that replace the system's roots. */
  caCertificates?: string;
  /** Do not check certificates: the caller has a hash of what it wants (oci2disk's SKIP_VERIFY). */
  isUnverified?: boolean;
  /** As in the environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY. */
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
  /** Fewer than 64 KiB in this time counts as a stalled connection. Default 60 s. There is no total timeout. */
  stallTimeoutMs?: number;
}

export interface ChunkOptions {
  /** Use the manifest beside the image: when it is there (auto, the default), never, or fail without it. */
  use?: 'auto' | 'never' | 'require';
  /** Default: `<source>.manifest`. */
  manifestUrl?: string;
  /** The manifest's root (hex), when the orchestrator knows it. */
  manifestRoot?: string;
  /** An image of a lower version, or without one, is refused. */
  minimumVersion?: number;
  /** Ed25519 public keys (PEM); if given, the manifest must be signed by one of them. */
  trustedKeys?: readonly string[];
  /** write: no look at what is there; delta: fetch only what differs; repair: the same, and say what differed. */
  mode?: 'write' | 'delta' | 'repair';
  /** How often finished chunks are synced and noted on the disk. Default 2 s. */
  journalIntervalMs?: number;
  /** Neighbors that may hold chunks. Off unless given. */
  neighbors?: NeighborOptions;
}

/** Nodes that get the same image: a list that somebody wrote down, or an orchestrator that knows who they are. */
export type NeighborOptions = {
  /** How long to go on serving after this node's own image is done. */ lingerMs?: number;
} & (
  | {
      /** Base addresses of the others. */
      urls: readonly string[];
      /** This node's own address, in the same spelling as the others know it. */
      ownUrl: string;
      /** Where to serve verified chunks. */
      listen: { host: string; port: number };
      directoryUrl?: never;
    }
  | {
      /** Where the orchestrator takes the announcement of this node and names the others; the address is its credential. */
      directoryUrl: string;
      listen: { host?: never; port: number };
      urls?: never;
      ownUrl?: never;
    }
);

/** Where the writer acts and reports. */
export interface WriteImageContext {
  signal?: AbortSignal;
  /** Called every second, and once at the end with 100 percent. */
  onProgress?: (progress: WriteProgress) => void;
  log?: (level: 'debug' | 'info' | 'warn', message: string, fields?: Record<string, unknown>) => void;
  /** Called right before the first byte is written: throw if the machine is no longer the one the plan was made for. */
  checkTarget?: () => Promise<void>;
  run?: Run;
}

export type Bottleneck = 'network' | 'decompression' | 'disk';

export interface WriteProgress {
  phase: 'checking' | 'writing' | 'syncing' | 'verifying' | 'done';
  /** 0–100 with the sync and the verification included; absent while the size is unknown. */
  percent?: number;
  etaSeconds?: number;
  bytesFetched: number;
  /** Raw bytes of the image that are accounted for, zeros included. */
  bytesRaw: number;
  /** Bytes that really went to the disk. */
  bytesWritten: number;
  fetchRate: number;
  rawRate: number;
  writeRate: number;
  bottleneck?: Bottleneck;
  /** "waiting for mirror2.example since 12 s (connection reset)", when nothing moves. */
  waitingFor?: string;
}

export interface WriteImageResult {
  format: ImageFormat | 'chunked';
  source: string;
  bytesFetched: number;
  bytesRaw: number;
  bytesWritten: number;
  seconds: number;
  limitedBy: Bottleneck;
  /** Digest of the downloaded file, if one was expected; chunked images have each chunk verified instead. */
  sha256?: string;
  /** How often a broken download was continued. */
  resumes: number;
  gptMoved: boolean;
  chunks?: ChunkSummary;
  /** "3.9 GiB in 21 s, 190 MB/s; limited by the network" */
  closingLine: string;
}

export interface ChunkSummary {
  total: number;
  zero: number;
  /** Chunks that were on the disk already. */
  kept: number;
  fromOrigin: number;
  fromNeighbours: number;
  /** In repair mode: the chunks that differed from the signed image. */
  differed: readonly number[];
  manifestRoot: string;
}

/** Streams an image onto a disk; returns only when every byte is verified and synced, throws KindlingError otherwise. */
export type WriteImage = (
  request: WriteImageRequest,
  context?: WriteImageContext,
) => Promise<WriteImageResult>;
