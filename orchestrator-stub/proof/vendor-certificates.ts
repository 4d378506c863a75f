// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { type KeyObject, webcrypto } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BasicConstraintsExtension, PemConverter, X509Certificate } from '@peculiar/x509';
import { KindlingError } from '../../protocol/error.ts';

/** A chain of a maker of TPMs is three or four certificates long. */
const LONGEST_CHAIN = 6;
const CERTIFICATE_FILE = /\.(pem|crt|cer|der)$/i;

/** The CAs of TPM makers that a site trusts: every certificate in its folder, roots and those below them. */
export class VendorCertificates {
  readonly #authorities: readonly X509Certificate[];
  readonly #now: () => Date;

  constructor(authorities: readonly X509Certificate[], now: () => Date) {
    this.#authorities = authorities.filter(isAuthority);
    this.#now = now;
  }

  /** Reads PEM and DER. A file that is no certificate is told at once: a machine would be refused for it later. */
  static read(folder: string, now: () => Date): VendorCertificates {
    const names = readdirSync(folder).filter((name) => CERTIFICATE_FILE.test(name));
    const authorities = names.flatMap((name) => {
      const file = join(folder, name);
      const bytes = readFileSync(file);
      const text = bytes.toString('latin1');
      try {
        const ders = text.includes('-----BEGIN') ? PemConverter.decode(text) : [new Uint8Array(bytes)];
        return ders.map((der) => new X509Certificate(der));
      } catch (cause) {
        throw new KindlingError('KND_CONFIG_INVALID', `${file} is no certificate`, { cause });
      }
    });
    return new VendorCertificates(authorities, now);
  }

  /** Subject of the CA whose chain certifies this very key; undefined if there is none. */
  async certifierOf(der: Uint8Array, key: KeyObject): Promise<string | undefined> {
    const certificate = decode(der);
    if (!certificate || !isFor(certificate, key)) return undefined;
    let below = certificate;
    for (let length = 0; length < LONGEST_CHAIN; length += 1) {
      const issuer = await this.#issuerOf(below);
      if (!issuer) return undefined;
      if (issuer.subject === issuer.issuer) return issuer.subject;
      below = issuer;
    }
    return undefined;
  }

  async #issuerOf(certificate: X509Certificate): Promise<X509Certificate | undefined> {
    for (const authority of this.#authorities) {
      if (authority.subject !== certificate.issuer) continue;
      const isSigned = await certificate
        .verify({ publicKey: authority.publicKey, date: this.#now() }, webcrypto as Crypto)
        .catch(() => false);
      if (isSigned) return authority;
    }
    return undefined;
  }
}

function decode(der: Uint8Array): X509Certificate | undefined {
  if (der.length === 0) return undefined;
  try {
    return new X509Certificate(new Uint8Array(der));
  } catch {
    return undefined;
  }
}

function isAuthority(certificate: X509Certificate): boolean {
  return certificate.getExtension(BasicConstraintsExtension)?.ca ?? false;
}

/**
 * Some makers name the key's algorithm RSAES-OAEP, which makes another SubjectPublicKeyInfo of the same key: what is compared is the key
 * itself, which stands at its end.
 */
function isFor(certificate: X509Certificate, key: KeyObject): boolean {
  const info = Buffer.from(certificate.publicKey.rawData);
  const type = key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'spki';
  const own = key.export({ type, format: 'der' });
  return info.subarray(-own.length).equals(own);
}
