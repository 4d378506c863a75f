import type { Client } from '@grpc/grpc-js';
import { KindlingError } from '../../protocol/error.ts';
import { InteractiveOnboardingService } from '../../protocol/generated/onboarding_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { pause } from '../../system/wait.ts';
import type { Endpoint } from '../connection/endpoint.ts';
import { explainCallError } from '../connection/explain.ts';
import { type Network, openChannel } from '../connection/network.ts';
import type { NodeFacts } from './node-facts.ts';

const TRIES = 3;
const DEADLINE_MS = 30_000;

/**
 * Registers the node in the name of the person who signed in, and gives the project it belongs to. The first call for an unknown
 * UUID answers with an empty project id (the reference server reads it from a host that is not there yet): asked again.
 */
export async function createNode(
  network: Network,
  endpoint: Endpoint,
  facts: NodeFacts,
  accessToken: string,
  options: { signal?: AbortSignal | undefined; pace?: number } = {},
): Promise<string> {
  const client = openChannel(network, endpoint);
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callCreateNodes(client, facts, accessToken, options.signal);
      } catch (thrown) {
        const error = await explainCallError(network, endpoint, 'registering the node', thrown);
        const isHopeless = error.code === 'KND_UNAUTHENTICATED' || error.code === 'KND_PERMISSION_DENIED';
        if (isHopeless || attempt === TRIES) throw error;
        await pause((2000 + Math.random() * 1000) * (options.pace ?? 1), options.signal);
      }
    }
  } finally {
    client.close();
  }
}

async function callCreateNodes(
  client: Client,
  { uuid, serial, mac, ip }: NodeFacts,
  accessToken: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { projectId } = await callUnary(
    client,
    InteractiveOnboardingService.method.createNodes,
    { payload: [{ hwdata: [{ uuid, serialnum: serial, macId: mac, sutIp: ip }] }] },
    {
      headers: { authorization: `Bearer ${accessToken}` },
      deadlineMs: DEADLINE_MS,
      ...(signal ? { signal } : {}),
    },
  );
  if (projectId === '') {
    throw new KindlingError('KND_ONBOARD_FAILED', 'the onboarding server answered without a project id');
  }
  return projectId;
}
