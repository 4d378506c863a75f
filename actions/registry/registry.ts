import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type HttpNetwork, type HttpResponse, openResponse } from '../../net/http.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { ImageReference } from './image-reference.ts';
import { basesFor } from './registry-settings.ts';

export interface RegistryOptions {
  username?: string | undefined;
  password?: string | undefined;
  signal?: AbortSignal;
  network?: HttpNetwork;
  /** Where to ask, in order (registry-settings.ts); without it the registry itself. */
  bases?: readonly string[];
  /** Whether user and password may be sent to this one of them; without it to all. */
  mayLogIn?: (base: string) => boolean;
}

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: { os: string; architecture: string };
}

export interface Manifest {
  mediaType?: string;
  config: Descriptor;
  layers: Descriptor[];
}

interface BlobAccess {
  bearerToken?: string;
  basicAuth?: { username: string; password: string };
}

const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const SILENCE_MS = 60_000;
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Pulls from one repository: OCI distribution specification 1.1 with token authentication. Everything is checked against its digest. */
export class Registry {
  readonly #image: ImageReference;
  readonly #options: RegistryOptions;
  #token: string | undefined;
  /** The registry asked for user and password themselves, not for a token. */
  #isBasic = false;
  #bases: string[];

  constructor(image: ImageReference, options: RegistryOptions = {}) {
    this.#image = image;
    this.#options = options;
    this.#bases = [...(options.bases ?? basesFor(image.registry, { insecure: [], mirrors: [] }))];
  }

  /** The manifest for this machine. A mirror that does not have it, or does not answer, is passed over; the rest comes from where it was found. */
  async manifest(): Promise<Manifest> {
    for (;;) {
      try {
        return await this.#manifest(this.#image.reference);
      } catch (thrown) {
        const isOfPlace = thrown instanceof KindlingError && thrown.code === 'KND_REGISTRY';
        if (!isOfPlace || this.#bases.length < 2) throw thrown;
        this.#bases.shift();
        this.#token = undefined;
        this.#isBasic = false;
      }
    }
  }

  /** An index is followed to the manifest for this machine. */
  async #manifest(reference: string): Promise<Manifest> {
    const response = await this.#get(`manifests/${reference}`, { accept: MANIFESTS.join(', ') });
    const bytes = await response.bytes();
    if (reference.startsWith('sha256:'))
      checkDigest(bytes, reference, `manifest of ${this.#image.repository}`);
    const document = JSON.parse(bytes.toString()) as Manifest & { manifests?: Descriptor[] };
    if (!document.manifests) return document;
    const architecture = ARCHITECTURES[process.arch] ?? process.arch;
    const match = document.manifests.find(
      ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
    );
    if (!match)
      throw new KindlingError(
        'KND_REGISTRY',
        `${this.#image.repository} has no image for linux/${architecture}`,
      );
    return this.#manifest(match.digest);
  }

  /** A small blob, whole: the image's configuration. */
  async blob({ digest }: Descriptor): Promise<Buffer> {
    const bytes = await (await this.#get(`blobs/${digest}`)).bytes();
    checkDigest(bytes, digest, `blob of ${this.#image.repository}`);
    return bytes;
  }

  /** A blob as a stream that fails at its end if the digest is wrong. */
  async openBlob({ digest }: Descriptor): Promise<Readable> {
    return Readable.from(wholeBlob(await this.#get(`blobs/${digest}`), digest), { objectMode: false });
  }

  /** Where a blob is and what opens it, for the image writer, which downloads by itself. */
  blobAddress({ digest }: Descriptor): { url: string; access: BlobAccess } {
    const { username, password = '' } = this.#login;
    return {
      url: this.#url(`blobs/${digest}`).href,
      access: {
        ...(this.#token ? { bearerToken: this.#token } : {}),
        ...(this.#isBasic && username !== undefined ? { basicAuth: { username, password } } : {}),
      },
    };
  }

  /** User and password, as far as the place that is asked now may have them. */
  get #login(): Pick<RegistryOptions, 'username' | 'password'> {
    const { username, password, mayLogIn } = this.#options;
    return mayLogIn?.(this.#bases[0] ?? '') === false
      ? { username: undefined, password: undefined }
      : { username, password };
  }

  #url(path: string): URL {
    // A mirror below a path keeps the path behind "v2", as registries that proxy others do.
    const [base = ''] = this.#bases;
    const { origin, pathname } = new URL(base);
    const prefix = pathname === '/' ? '' : pathname;
    return new URL(`${origin}/v2${prefix}/${this.#image.repository}/${path}`);
  }

  async #get(path: string, headers: Record<string, string> = {}, isRetry = false): Promise<HttpResponse> {
    const url = this.#url(path);
    const authorization = this.#token
      ? { authorization: `Bearer ${this.#token}` }
      : this.#basic(isRetry || this.#isBasic);
    const response = await this.#open(url, { ...headers, ...authorization });
    const { status } = response;
    if (status === 401 && !isRetry) {
      response.discard();
      await this.#logIn(response.headers['www-authenticate'] ?? '');
      return this.#get(path, headers, true);
    }
    if (status === 200) return response;
    const said = await response.excerpt();
    throw new KindlingError('KND_REGISTRY', `${url.host} answered ${status} for ${url.pathname}: ${said}`, {
      retryable: status >= 500 || status === 429,
      evidence: { url: url.href, statusCode: status },
    });
  }

  #open(url: URL, headers: Record<string, string>): Promise<HttpResponse> {
    const { network = {}, signal } = this.#options;
    return openResponse(network, url, {
      headers,
      signal,
      stallMs: SILENCE_MS,
      followsRedirects: true, // to storage, mostly
      code: 'KND_REGISTRY',
    });
  }

  /** Asked before: a registry without tokens wants user and password with every call. */
  #basic(isAsked: boolean): Record<string, string> {
    const { username, password } = this.#login;
    if (!isAsked || username === undefined) return {};
    return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` };
  }

  /** Token authentication as the registry asks for it: `Bearer realm="…",service="…",scope="…"`. */
  async #logIn(challenge: string): Promise<void> {
    const field = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
    const realm = field('realm');
    if (!challenge.startsWith('Bearer') || realm === undefined) {
      this.#isBasic = true; // the next try carries it
      return;
    }
    const url = new URL(realm);
    const isInTheClear = url.protocol !== 'https:' && this.#bases[0]?.startsWith('https:');
    if (isInTheClear && this.#login.username !== undefined)
      throw new KindlingError(
        'KND_REGISTRY',
        `${url.host} wants the password in the clear: ${realm} is not https`,
      );
    const service = field('service');
    if (service) url.searchParams.set('service', service);
    url.searchParams.set('scope', field('scope') ?? `repository:${this.#image.repository}:pull`);
    const response = await this.#open(url, this.#basic(true));
    const body = await response.text();
    if (response.status !== 200) {
      throw new KindlingError('KND_REGISTRY', `${url.host} gives no token (${response.status})`, {
        evidence: { realm },
      });
    }
    const { token, access_token } = JSON.parse(body) as { token?: string; access_token?: string };
    this.#token = token ?? access_token;
  }
}

/** The bytes as they come; their digest is known when the last one has passed. */
async function* wholeBlob(response: HttpResponse, digest: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const piece of response.pieces()) {
    hash.update(piece);
    yield piece;
  }
  const found = `sha256:${hash.digest('hex')}`;
  if (found !== digest) throw wrongDigest('blob', digest, found);
}

function checkDigest(bytes: Buffer, digest: string, what: string): void {
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (found !== digest) throw wrongDigest(what, digest, found);
}

function wrongDigest(what: string, wanted: string, found: string): KindlingError {
  return new KindlingError(
    'KND_REGISTRY_DIGEST',
    `the ${what} is not what its digest says: ${found} instead of ${wanted}`,
  );
}
