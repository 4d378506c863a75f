import { fetchText } from '../../net/http.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type HostId, toHostId } from '../../protocol/ids.ts';
import type { Inventory } from '../../protocol/inventory.ts';
import { parseEndpoint } from '../connection/endpoint.ts';
import { explainCallError, httpStatusError } from '../connection/explain.ts';
import type { Network } from '../connection/network.ts';

/** Shows the machine to a Kindling server. Gives the id the server knows it by, or undefined if the server is not one of ours. */
export async function reportDiscovery(
  network: Network,
  server: string,
  inventory: Inventory,
  signal?: AbortSignal,
): Promise<HostId | undefined> {
  const endpoint = parseEndpoint(server, 'verified');
  const body = JSON.stringify(inventory);
  const what = 'the discovery report';
  const response = await fetchText(network, `${server}/api/v1/discovery`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal,
  }).catch(async (error: unknown) => {
    signal?.throwIfAborted();
    throw await explainCallError(network, endpoint, what, error);
  });
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw httpStatusError(endpoint, what, response.status);
  return readHostId(response.body);
}

/** A gateway or a sign-in page of the network may answer in the server's place: that goes away, so it is asked again. */
function readHostId(body: string): HostId {
  try {
    const { nodeId } = JSON.parse(body) as { nodeId?: unknown };
    if (typeof nodeId === 'string') return toHostId(nodeId);
  } catch {
    // no JSON at all: said below
  }
  throw new KindlingError(
    'KND_SERVER_PROTOCOL',
    'the discovery report: the server’s answer holds no nodeId',
    { retryable: true },
  );
}
