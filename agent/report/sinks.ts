import { KindlingError } from '../../protocol/error.ts';
import type { NodeLogLine, NodeLogs } from '../../protocol/node-logs.ts';
import { type Endpoint, parseEndpoint, urlOf } from '../connection/endpoint.ts';
import { httpStatusError } from '../connection/explain.ts';
import { fetchText, type Network } from '../connection/network.ts';
import { type OtlpSource, toOtlpRequest } from './otlp.ts';
import type { RingEntry } from './ring.ts';
import type { LogSink } from './ship.ts';

/** Log lines to a Kindling server, under the id it gave the node. */
export function kindlingSink(network: Network, server: string, nodeId: string, stream: string): LogSink {
  const endpoint = parseEndpoint(server, 'verified');
  const url = `${server}/api/v1/nodes/${encodeURIComponent(nodeId)}/logs`;
  return async (entries) => {
    const logs: NodeLogs = { stream, lines: entries.map(toNodeLogLine) };
    await post(network, endpoint, url, logs, {});
  };
}

export interface OtlpSinkOptions {
  network: Network;
  /** logging_svc of env_config. */
  loggingServer: string;
  tls: Endpoint['tls'];
  source: OtlpSource;
  projectId: string;
  tokens: { accessToken(): Promise<string>; renew(rejected: string): Promise<void> };
}

/** Log lines to an OTLP/HTTP collector, with the headers EMF's gateway wants. */
export function otlpSink(options: OtlpSinkOptions): LogSink {
  const endpoint = parseEndpoint(options.loggingServer, options.tls);
  return async (entries) => {
    const token = await options.tokens.accessToken();
    await post(
      options.network,
      endpoint,
      urlOf(endpoint, '/v1/logs'),
      toOtlpRequest(entries, options.source),
      {
        authorization: `Bearer ${token}`,
        'x-scope-orgid': options.projectId,
        hostguid: options.source.hostGuid,
      },
    ).catch(async (error: unknown) => {
      if (error instanceof KindlingError && error.code === 'KND_UNAUTHENTICATED')
        await options.tokens.renew(token);
      throw error; // the shipper sends the same lines again
    });
  };
}

function toNodeLogLine({ sequence, line }: RingEntry): NodeLogLine {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  return {
    sequence,
    time: String(time),
    level: String(level),
    message: String(msg ?? ''),
    ...(Object.keys(fields).length > 0 ? { fields } : {}),
  };
}

async function post(
  network: Network,
  endpoint: Endpoint,
  url: string,
  content: unknown,
  headers: Record<string, string>,
): Promise<void> {
  const body = JSON.stringify(content);
  const { status } = await fetchText(network, url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  });
  if (status < 200 || status > 299) throw httpStatusError(endpoint, 'shipping logs', status);
}
