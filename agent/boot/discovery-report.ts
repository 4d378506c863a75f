import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Inventory } from '../../protocol/inventory.ts';
import { waitFor } from '../system/wait.ts';
import type { View } from './console/view.ts';

/** Posts the inventory to the server until it takes it; a server without that address is not ours, and that is fine. */
export async function reportDiscovery(
  server: string,
  inventory: Inventory,
  view: View,
  signal: AbortSignal,
): Promise<void> {
  const url = new URL('/api/v1/discovery', server).href;
  const endWait = view.waiting('run', `${url} to take the discovery report`);
  const status = await waitFor(() => post(url, JSON.stringify(inventory)).catch(() => undefined), {
    name: 'the discovery report',
    timeoutMs: Number.POSITIVE_INFINITY,
    intervalMs: 2000,
    signal,
  });
  endWait();
  view.line(
    'run',
    status === 200 ? `reported to ${server}` : `${server} answered ${status} to the discovery report`,
  );
}

function post(url: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const request = send(url, {
      method: 'POST',
      timeout: 10_000,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    });
    request.on('response', (response) => {
      response.resume();
      resolve(
        response.statusCode === undefined || response.statusCode >= 500 ? undefined : response.statusCode,
      );
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
    request.end(body);
  });
}
