/** What somebody did, or tried to do. It holds no secret. */
export interface AuditEntry {
  at: string;
  /** A person's name, or the id of a node. */
  who: string;
  role: string;
  /** Address of the caller. */
  from: string;
  /** The operation's name in the API, for example "reprovisionNode". */
  action: string;
  /** Which node it concerned, if one. */
  node?: string;
  nodeName?: string;
  /** What it was done to, as the caller named it. */
  target: string;
  /** Fields that are no longer as they were, and what they became. */
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
  /** "done", or the code of the refusal. */
  result: string;
}

/** An entry in its place: the hash covers it and the hash of the line before. */
export interface AuditLine extends AuditEntry {
  line: number;
  hash: string;
}

/** Whether all lines are as they were written. */
export interface AuditVerdict {
  lines: number;
  /** Hash of the last line: written down elsewhere it proves later that nothing was cut off. */
  head: string;
  /** The first line that is not as it was written. */
  broken: { line: number; reason: string } | null;
}
