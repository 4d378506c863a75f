import { openResponse } from './http.ts';
import { siteNetwork } from './site-network.ts';

const SILENCE_MS = 15_000;

/** One request of an action to a server of the site; whatever the server says is an answer, only silence is an error. */
export async function sendJson(
  url: URL,
  options: {
    method: 'POST' | 'DELETE';
    body?: unknown;
    /** PEM, or Base64 of it. */
    ca?: string | readonly string[] | undefined;
    signal: AbortSignal;
  },
): Promise<{ status: number; text: string }> {
  const response = await openResponse(siteNetwork(options.ca), url, {
    method: options.method,
    headers: { 'content-type': 'application/json' },
    body: options.body === undefined ? '' : JSON.stringify(options.body),
    signal: options.signal,
    stallMs: SILENCE_MS,
  });
  return { status: response.status, text: await response.text() };
}
