/**
 * What a node asks of a server whose certificate it refuses. It wants the server's time, by which it tells whether its own clock
 * is to blame; the address lets an orchestrator of ours know that somebody stands at the door. Nothing but the reason is told:
 * who the server is has not been proved.
 */
export const CERTIFICATE_REFUSED_PATH = '/certificate-refused';

/** `reason` is OpenSSL's name of what is wrong: SELF_SIGNED_CERT_IN_CHAIN, CERT_HAS_EXPIRED, … */
export function certificateRefusedPath(reason: string): string {
  return `${CERTIFICATE_REFUSED_PATH}?reason=${encodeURIComponent(reason)}`;
}

const REASON = /^[A-Z0-9_]{1,64}$/;

/** The reason as it may be shown: anybody can send one. */
export function shownReason(reason: string | null): string {
  return reason !== null && REASON.test(reason) ? reason : 'no reason given';
}
