import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

/**
 * The time in the Date header of a server, in milliseconds since 1970. The certificate is not checked, because that needs
 * the right time; the worst a liar can do is make later, checked connections fail. Only the header is read.
 */
export function askHttpDate(url: string, timeoutMs: number): Promise<number> {
  const { protocol } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { method: 'HEAD', timeout: timeoutMs, agent: false as const };
    const request =
      protocol === 'https:'
        ? httpsRequest(url, { ...options, rejectUnauthorized: false })
        : httpRequest(url, options);
    request.on('response', (response) => {
      response.resume();
      const time = Date.parse(response.headers.date ?? '');
      if (Number.isNaN(time)) reject(new Error(`${url} sends no date`));
      else resolve(time + 500); // the header has whole seconds: on average half of one has passed
    });
    request.on('timeout', () => request.destroy(new Error(`${url} did not answer within ${timeoutMs} ms`)));
    request.on('error', reject);
    request.end();
  });
}
