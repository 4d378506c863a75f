import { openResponse } from '../../../net/http.ts';
import type { ProxySettings } from '../../../net/proxy.ts';

/**
 * The time in the Date header of a server, in milliseconds since 1970. The certificate is not checked, because that needs
 * the right time; a liar can make later, checked connections fail, or a certificate good again
 * that ended after this Micro-OS was built (docs/explanation/what-we-believe.md). Only the header is read.
 */
export async function askHttpDate(
  url: string,
  timeoutMs: number,
  proxies: ProxySettings = {},
): Promise<number> {
  const response = await openResponse({ trust: 'anyone', proxies }, url, {
    method: 'HEAD',
    stallMs: timeoutMs,
    signal: AbortSignal.timeout(timeoutMs),
  });
  response.discard();
  const time = Date.parse(response.headers.date ?? '');
  if (Number.isNaN(time)) throw new Error(`${url} sends no date`);
  return time + 500; // the header has whole seconds: on average half of one has passed
}
