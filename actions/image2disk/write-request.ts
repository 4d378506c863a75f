import { createPublicKey } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { type ProxySettings, proxiesOfEnvironment } from '../../net/proxy.ts';
import { decodePem } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Values } from '../contract/parameters.ts';
import type {
  ChunkOptions,
  ExpectedImage,
  NeighborOptions,
  Transport,
  WriteImageRequest,
} from '../image-writer/index.ts';
import type { IMAGE_PARAMETERS } from './image-parameters.ts';

export type ImageVariables = Values<typeof IMAGE_PARAMETERS> & { COMPRESSED?: boolean | undefined };

/** How the image's server is to be met, where the variables do not say it: a registry has given a token. */
export type ImageAccess = Pick<Transport, 'bearerToken' | 'basicAuth' | 'isUnverified'>;

/** What the variables of this action ask the image writer for. */
export function writeRequestFor(
  action: string,
  variables: ImageVariables,
  target: string,
  access: ImageAccess = {},
): WriteImageRequest {
  try {
    return requestFor(variables, target, access);
  } catch (thrown) {
    if (!(thrown instanceof WrongVariable)) throw thrown;
    throw new KindlingError('KND_ACTION_VARIABLES', `${action}: ${thrown.message}`);
  }
}

class WrongVariable extends Error {}

function requestFor(variables: ImageVariables, target: string, access: ImageAccess): WriteImageRequest {
  return {
    sources: [variables.IMG_URL, ...addresses('KINDLING_MIRRORS', variables.KINDLING_MIRRORS)],
    target,
    expected: expectedFor(variables),
    transport: { ...transportFor(variables), ...access },
    retry: { isEnabled: variables.RETRY_ENABLED, windowMs: variables.RETRY_DURATION_MINUTES * 60_000 },
    readBack: variables.KINDLING_READ_BACK,
    chunks: chunksFor(variables),
  };
}

function expectedFor(variables: ImageVariables): ExpectedImage {
  const hex = (text: string | undefined) => text?.replace(/^sha(256|512):/, '').toLowerCase();
  return given({
    sha256: hex(variables.SHA256),
    sha512: hex(variables.KINDLING_SHA512),
    length: variables.KINDLING_LENGTH,
    rawSha256: hex(variables.KINDLING_RAW_SHA256),
    rawLength: variables.KINDLING_RAW_LENGTH,
    allowsUnknownEnd: variables.KINDLING_ALLOW_UNKNOWN_END,
    compressed: variables.COMPRESSED,
    signers: keysOf(variables),
    signatureUrl: variables.KINDLING_SIGNATURE,
  });
}

function transportFor(variables: ImageVariables): Transport {
  const { TLS_CA_CERT } = variables;
  return given({
    bearerToken: variables.KINDLING_BEARER_TOKEN,
    credentialOrigins: originsOf(variables.KINDLING_BEARER_ORIGINS),
    caCertificates: TLS_CA_CERT === undefined ? undefined : decodeCertificates(TLS_CA_CERT),
    ...proxiesOf(variables),
  });
}

/** The large letters win, as the reference has it; what the action is not told, the site says. */
export function proxiesOf(
  variables: Pick<
    ImageVariables,
    'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY' | 'http_proxy' | 'https_proxy' | 'no_proxy'
  >,
): ProxySettings {
  const site = proxiesOfEnvironment();
  return given({
    httpProxy: variables.HTTP_PROXY ?? variables.http_proxy ?? site.httpProxy,
    httpsProxy: variables.HTTPS_PROXY ?? variables.https_proxy ?? site.httpsProxy,
    noProxy: variables.NO_PROXY ?? variables.no_proxy ?? site.noProxy,
  });
}

function chunksFor(variables: ImageVariables): ChunkOptions {
  return given({
    mode: variables.KINDLING_MODE,
    manifestUrl: variables.KINDLING_MANIFEST,
    manifestRoot: variables.KINDLING_MANIFEST_ROOT,
    minimumVersion: variables.KINDLING_MANIFEST_VERSION,
    trustedKeys: keysOf(variables),
    neighbors: neighborsOf(variables),
  });
}

/** A list that somebody wrote goes before the one the orchestrator keeps. */
function neighborsOf(variables: ImageVariables): NeighborOptions | undefined {
  const {
    KINDLING_NEIGHBOURS: list,
    KINDLING_NEIGHBOURS_URL: directoryUrl,
    KINDLING_NEIGHBOUR_LINGER_SECONDS: lingerSeconds,
    KINDLING_NEIGHBOUR_PORT: port,
  } = variables;
  if (list !== undefined)
    return neighborsFor(addresses('KINDLING_NEIGHBOURS', list), lingerSeconds, ownAddresses());
  return directoryUrl === undefined
    ? undefined
    : { directoryUrl, listen: { port }, lingerMs: lingerSeconds * 1000 };
}

/**
 * The orchestrator gives every node the same list; each finds itself in it by its own addresses. A node that is not in
 * the list takes no part: nobody could ask it, and everybody would count on it.
 */
export function neighborsFor(
  urls: readonly string[],
  lingerSeconds: number,
  addresses: readonly string[],
): NeighborOptions | undefined {
  const own = urls.map((url) => new URL(url)).find(({ hostname }) => addresses.includes(bare(hostname)));
  if (!own) return undefined;
  const ownUrl = urls.find((url) => new URL(url).href === own.href) ?? own.href;
  const port = Number(own.port) || 80;
  return { urls, ownUrl, listen: { host: bare(own.hostname), port }, lingerMs: lingerSeconds * 1000 };
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

const ownAddresses = () =>
  Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);

function keysOf({ KINDLING_IMAGE_KEYS: text }: ImageVariables): string[] | undefined {
  if (text === undefined) return undefined;
  const pem = decodePem(text);
  const keys = pem.match(/-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----/g) ?? [];
  const isUsable = (key: string) => {
    try {
      return createPublicKey(key).asymmetricKeyType === 'ed25519';
    } catch {
      return false;
    }
  };
  if (keys.length > 0 && keys.every(isUsable)) return keys;
  throw new WrongVariable('KINDLING_IMAGE_KEYS is not PEM (or Base64 of PEM) of Ed25519 public keys');
}

/** EMF gives Base64 of PEM; PEM itself is taken too. */
function decodeCertificates(text: string): string {
  const pem = decodePem(text);
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw new WrongVariable('TLS_CA_CERT is not Base64 of PEM certificates');
}

/** A list of URLs. A wrong one is not shown: it may hold a login. */
function addresses(variable: string, text: string | undefined): string[] {
  const urls = text?.split(/[\s,]+/).filter(Boolean) ?? [];
  const wrong = urls.findIndex((url) => !/^https?:\/\//i.test(url) || !URL.canParse(url));
  if (wrong >= 0) throw new WrongVariable(`entry ${wrong + 1} of ${variable} is not an http or https URL`);
  return urls;
}

const originsOf = (text: string | undefined) =>
  text === undefined
    ? undefined
    : addresses('KINDLING_BEARER_ORIGINS', text).map((url) => new URL(url).origin);

/** The same object without the keys that have no value. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
