import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { KindlingError } from '../../protocol/error.ts';

/** What Node tells about the certificate a server showed. */
export type SeenCertificate = Pick<
  PeerCertificate,
  'subject' | 'issuer' | 'valid_from' | 'valid_to' | 'fingerprint256' | 'subjectaltname'
>;

export interface Clocks {
  now: number;
  /** What the server's Date header said, if it said anything. */
  serverTime: number | undefined;
}

const SKEW_MS = 5 * 60_000;

/** Names what is wrong with a server's certificate: which certificate, why, and whether it is rather our clock. */
export function describeCertificateError(
  host: string,
  certificate: SeenCertificate,
  code: string,
  clocks: Clocks,
): KindlingError {
  const which = `the certificate of ${host} (for ${nameOf(certificate.subject)}, issued by ${nameOf(certificate.issuer)})`;
  const evidence = {
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    validFrom: certificate.valid_from,
    validTo: certificate.valid_to,
    fingerprint: certificate.fingerprint256,
    opensslCode: code,
  };
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED') {
    return dateError(which, certificate, clocks, evidence);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const reason = checkServerIdentity(host, certificate as PeerCertificate)?.message;
    return new KindlingError('KND_CONNECT_TLS_NAME', `${which} is not for this name`, {
      evidence: { ...evidence, names: certificate.subjectaltname },
      cause: reason,
    });
  }
  return new KindlingError(
    'KND_CONNECT_TLS_UNTRUSTED',
    `${which} is signed by nobody this node trusts (${code})`,
    { evidence },
  );
}

function dateError(
  which: string,
  certificate: SeenCertificate,
  { now, serverTime }: Clocks,
  evidence: Record<string, unknown>,
): KindlingError {
  const from = Date.parse(certificate.valid_from);
  const to = Date.parse(certificate.valid_to);
  const isSkewed = serverTime !== undefined && Math.abs(serverTime - now) > SKEW_MS;
  // A node whose clock stands before the certificate was made has almost always an empty CMOS battery.
  if (isSkewed || (serverTime === undefined && now < from)) {
    const off = serverTime === undefined ? '' : `; the server says ${new Date(serverTime).toISOString()}`;
    return new KindlingError(
      'KND_CLOCK_SKEW',
      `the clock of this node is wrong: it says ${new Date(now).toISOString()}, but ${which} is valid from ${certificate.valid_from} to ${certificate.valid_to}${off}`,
      { evidence: { ...evidence, now, serverTime } },
    );
  }
  const verb =
    now > to ? `expired on ${certificate.valid_to}` : `is not valid before ${certificate.valid_from}`;
  return new KindlingError('KND_CONNECT_TLS_EXPIRED', `${which} ${verb}`, { evidence });
}

function nameOf(distinguishedName: PeerCertificate['subject'] | undefined): string {
  const { CN, O } = distinguishedName ?? {};
  return [CN, O].flat().filter(Boolean).join(', ') || 'an unnamed subject';
}
