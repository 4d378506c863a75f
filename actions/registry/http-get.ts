import http from 'node:http';
import https from 'node:https';
import { type ProxySettings, proxyFor } from '../../net/proxy.ts';
import { KindlingError } from '../../protocol/error.ts';

export interface GetOptions {
  headers?: Record<string, string>;
  /** PEM certificates that are trusted beside none other. */
  ca?: string | undefined;
  skipVerify?: boolean;
  signal?: AbortSignal;
  proxies?: ProxySettings | undefined;
}

const MOST_REDIRECTS = 5;

/** One GET, redirects followed. Credentials do not follow to another host: registries redirect blobs to storage that rejects them. */
export async function httpGet(url: URL, options: GetOptions, redirects = 0): Promise<http.IncomingMessage> {
  const response = await once(url, options);
  const { statusCode = 0, headers } = response;
  if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return response;
  response.resume();
  if (redirects >= MOST_REDIRECTS)
    throw new KindlingError('KND_REGISTRY', `${url.host} redirects in circles`);
  const next = new URL(headers.location, url);
  if (!/^https?:$/.test(next.protocol))
    throw new KindlingError('KND_REGISTRY', `${url.host} redirects to ${next.protocol}, which is not HTTP`);
  const { authorization: _, ...rest } = options.headers ?? {};
  // The origin, not the host: from https to http on the same host the credentials would travel in the clear.
  return httpGet(next, next.origin === url.origin ? options : { ...options, headers: rest }, redirects + 1);
}

function once(
  url: URL,
  { headers = {}, ca, skipVerify, signal, proxies = {} }: GetOptions,
): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const scheme = url.protocol === 'https:' ? https : http;
  const proxy = proxyFor(url, proxies)?.href;
  const request = scheme.get(
    url,
    {
      ...(proxy ? { agent: new scheme.Agent({ proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }) } : {}),
      headers,
      ...(ca ? { ca } : {}),
      ...(skipVerify ? { rejectUnauthorized: false } : {}),
      ...(signal ? { signal } : {}),
      timeout: 60_000,
    },
    resolve,
  );
  request.on('timeout', () => request.destroy(new Error('no answer for 60 s')));
  request.on('error', (cause) => {
    reject(
      new KindlingError('KND_REGISTRY', `${url.host} cannot be reached: ${cause.message}`, {
        cause,
        retryable: true,
      }),
    );
  });
  return promise;
}
