import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';

const SILENCE_MS = 15_000;

/** One request of an action to a server of the site; whatever the server says is an answer, only silence is an error. */
export function sendJson(
  url: URL,
  options: {
    method: 'POST' | 'DELETE';
    body?: unknown;
    ca?: string | string[] | undefined;
    signal: AbortSignal;
  },
): Promise<{ status: number; text: string }> {
  const { method, ca, signal } = options;
  const body = options.body === undefined ? '' : JSON.stringify(options.body);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const request = (url.protocol === 'https:' ? https : http).request(
    url,
    {
      method,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      ...(ca ? { ca } : {}),
      signal,
      timeout: SILENCE_MS,
    },
    (response) =>
      text(response).then((said) => resolve({ status: response.statusCode ?? 0, text: said }), reject),
  );
  request.on('timeout', () => request.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)));
  request.on('error', reject);
  request.end(body);
  return promise;
}
