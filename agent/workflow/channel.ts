import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { type Client, status } from '@grpc/grpc-js';
import {
  type CallSettings,
  callUnary,
  collectServerStream,
  type Kind,
  type Response,
} from '../../protocol/grpc-service.ts';
import { hasGrpcCode } from '../connection/explain.ts';

/** Where tokens come from, if the server wants any. */
export interface TokenSource {
  accessToken(): Promise<string>;
  renew(rejected: string): Promise<void>;
}

/** How long a call may take, and who may end it earlier. */
type CallLimits = Required<Pick<CallSettings, 'deadlineMs'>> & Pick<CallSettings, 'signal'>;
type StreamSettings = CallLimits & Pick<CallSettings, 'onHeaders'>;

/** A connection to the workflow server, with the node's bearer token on every call. */
export class WorkflowChannel {
  readonly #client: Client;
  readonly #tokens: TokenSource | undefined;

  constructor(client: Client, tokens: TokenSource | undefined) {
    this.#client = client;
    this.#tokens = tokens;
  }

  call<M extends DescMethod>(
    method: Kind<M, 'unary'>,
    request: MessageInitShape<M['input']>,
    limits: CallLimits,
  ): Promise<Response<M>> {
    return this.#withToken((headers) => callUnary<M>(this.#client, method, request, { ...limits, headers }));
  }

  /** Everything a server streams until it ends. */
  collect<M extends DescMethod>(
    method: Kind<M, 'server_streaming'>,
    request: MessageInitShape<M['input']>,
    settings: StreamSettings,
  ): Promise<Response<M>[]> {
    return this.#withToken((headers) =>
      collectServerStream<M>(this.#client, method, request, { ...settings, headers }),
    );
  }

  /** When the server does not accept the token, renews it and makes the call once more. */
  async #withToken<T>(makeCall: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    if (!this.#tokens) return makeCall({});
    const token = await this.#tokens.accessToken();
    try {
      return await makeCall({ authorization: `Bearer ${token}` });
    } catch (error) {
      if (!hasGrpcCode(error, status.UNAUTHENTICATED)) throw error;
      await this.#tokens.renew(token);
      return makeCall({ authorization: `Bearer ${await this.#tokens.accessToken()}` });
    }
  }
}
