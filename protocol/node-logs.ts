/**
 * What the agent posts to `POST /api/v1/nodes/<nodeId>/logs` of a Kindling server, with the nodeId that the discovery report was
 * answered with; from before onboarding on, so without credentials. Answer: 200 or 204. Any other answer: the same lines again,
 * later. `stream` and `sequence` together name a line once and for all, so the server can drop what it has.
 */
export interface NodeLogs {
  /** One run of the agent. */
  stream: string;
  /** In order of `sequence`; a gap means that the node had to drop lines. */
  lines: NodeLogLine[];
}

export interface NodeLogLine {
  /** Counts from 1 within the stream. */
  sequence: number;
  /** ISO 8601. */
  time: string;
  level: string;
  message: string;
  /** workflow, action, attempt, code, … */
  fields?: Record<string, unknown>;
}
