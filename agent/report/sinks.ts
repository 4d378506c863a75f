import { fetchText } from '../../net/http.ts';
import type { KindlingError } from '../../protocol/error.ts';
import { type Endpoint, urlOf } from '../connection/endpoint.ts';
import { httpStatusError } from '../connection/explain.ts';
import type { Network } from '../connection/network.ts';
import { type OtlpSource, toOtlpRequest } from './otlp.ts';
import type { LogSink } from './ship.ts';

/** What a collector wants to see of the node's credentials. */
interface SinkCredentials {
  readonly projectId: string;
  accessToken(): Promise<string | undefined>;
  renew(rejected: string): Promise<unknown>;
}

export interface OtlpSinkOptions {
  network: Network;
  endpoint: Endpoint;
  source: OtlpSource;
  /** The node's credentials as of now; a Kindling server takes logs of nodes that have none yet. */
  credentials: () => SinkCredentials | undefined;
}

/** Log lines to an OTLP/HTTP collector (EMF's gateway or a Kindling server), with the headers EMF's gateway wants. */
export function otlpSink({ network, endpoint, source, credentials }: OtlpSinkOptions): LogSink {
  return async (entries) => {
    const current = credentials();
    const token = await current?.accessToken();
    const body = JSON.stringify(toOtlpRequest(entries, source));
    const { status } = await fetchText(network, urlOf(endpoint, '/v1/logs'), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        hostguid: source.hostGuid,
        ...(current && token !== undefined
          ? { authorization: `Bearer ${token}`, 'x-scope-orgid': current.projectId }
          : {}),
      },
      body,
    });
    if (status >= 200 && status <= 299) return;
    const error = httpStatusError(endpoint, 'shipping logs', status);
    if (isRejected(error) && token !== undefined) await current?.renew(token);
    throw error; // the shipper sends the same lines again
  };
}

function isRejected(error: KindlingError): boolean {
  return error.code === 'KND_UNAUTHENTICATED';
}
