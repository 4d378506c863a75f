import type { SignedCertificate } from './erasure-certificate.ts';
import type { DiskFacts, HardwareFacts } from './hardware-facts.ts';

/** What a signature of a site's key is good for: these records, and nothing else. */
export const RECORD_DOMAIN = 'kindling-shipping-record-1';
export const BATCH_DOMAIN = 'kindling-shipping-batch-1';

/** Everything that is known of one machine when it leaves: what it is, what was done to it, by whom, and how it ended. */
export interface ShippingRecord {
  version: 1;
  madeAt: string;
  /** The project id of the site. */
  site: string;
  node: {
    id: string;
    name: string;
    uuid: string | null;
    serial: string | null;
    macs: string[];
    /** Where it stood. */
    place: string | null;
    site: string | null;
    metadata: Record<string, string>;
  };
  hardware: Omit<HardwareFacts, 'disks'> & { disks: RecordedDisk[] };
  /** Certificates of disks that the machine no longer has, or never told of. */
  otherErasures: SignedCertificate[];
  /** The TPM that the node is known by, and when it proved that it has it. */
  proof: { ekHash: string; provenAt: string | null; certifiedBy: string | null } | null;
  system: {
    profile: string | null;
    generation: number;
    /** As the profile says it now, without a password. */
    imageUrl: string | null;
    /** What the profile asks for; null: it does not say. */
    imageSha256: string | null;
    /** What the node says it has written. */
    written: WrittenImage | null;
    firstBootAt: string | null;
  };
  outcome: RecordOutcome;
  stages: RecordedStage[];
  /** What people did to it, the oldest first. */
  people: { at: string; who: string; role: string; station: string; action: string }[];
  /** Of the log as `log.jsonl` in the batch has it. */
  log: { lines: number; sha256: string };
}

export interface RecordedDisk extends DiskFacts {
  /** The newest certificate of erasure of this disk, as its action signed it. */
  erasure: SignedCertificate | null;
}

export interface WrittenImage {
  at: string;
  /** Of the image as it was downloaded; null where chunks were verified one by one. */
  sha256: string | null;
  manifestRoot: string | null;
  bytes: number | null;
}

export interface RecordOutcome {
  /** done: its system has reported. failed: it needs a hand. open: neither yet. */
  verdict: 'done' | 'failed' | 'open';
  status: string;
  reason: { code: string | null; message: string } | null;
}

export interface RecordedStage {
  name: string;
  state: string;
  attempt: number;
  startedAt: string | null;
  stoppedAt: string | null;
  seconds: number;
}

/** A record for people and programs to read, with the same record sealed by the site's key (signed-document.ts). */
export interface SignedRecord {
  record: ShippingRecord;
  seal: string;
}

/** The files of a batch and their digests; itself sealed. */
export interface BatchList {
  madeAt: string;
  site: string;
  nodes: number;
  /** SHA-256 by path. */
  files: Record<string, string>;
}

export const BATCH_LIST_PATH = 'batch.json';
