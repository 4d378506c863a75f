import type { ErrorReport } from './error.ts';

/**
 * A failed action as one text. Both dialects of Tinkerbell carry nothing else, and a person reads it at the other end, so the
 * fields that a server needs stand first, where no cut can reach them:
 *
 *     code ": " [ "plan " hash " wants consent: " ] message { "; because: " cause } "; next: " hint
 *
 * The plan is there with KND_CONSENT_REQUIRED only. Agents since the first release have sent exactly this.
 */
export interface Failure {
  code: string;
  /** Hash of the plan that waits to be approved. */
  plan: string | undefined;
  /** What follows, for a person. */
  said: string;
}

/** Kubernetes objects of real servers hold it, and a screen shows it. */
const MAX_CHARACTERS = 2000;
const WITH_PLAN = 'KND_CONSENT_REQUIRED';
const TEXT = /^(KND_[A-Z0-9_]+): ([\s\S]*)$/;
const PLAN = /^plan ([0-9a-f]{64}) wants consent: ([\s\S]*)$/;

/** The whole story: code, what, why, what next. `plan` is the hash of the plan that the action announced last. */
export function encodeFailure({ code, message, causes, hint }: ErrorReport, plan?: string): string {
  const asked = code === WITH_PLAN && plan !== undefined ? `plan ${plan} wants consent: ` : '';
  const because = causes.map((cause) => `; because: ${cause}`).join('');
  return `${code}: ${asked}${message}${because}; next: ${hint}`.slice(0, MAX_CHARACTERS);
}

/** Undefined for what is not a failure in our words: another agent's, or a timeout that the server itself found. */
export function decodeFailure(text: string): Failure | undefined {
  const [, code, said] = TEXT.exec(text) ?? [];
  if (code === undefined || said === undefined) return undefined;
  const [, plan, rest] = (code === WITH_PLAN && PLAN.exec(said)) || [];
  return { code, plan, said: rest ?? said };
}
