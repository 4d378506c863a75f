import { type Client, status } from '@grpc/grpc-js';
import { hasGrpcCode } from '../connection/explain.ts';

/** Where tokens come from, if the server wants any. */
export interface TokenSource {
  accessToken(): Promise<string>;
  renew(rejected: string): Promise<void>;
}

/** A connection to the workflow server, with the node's bearer token on every call. */
export class WorkflowChannel {
  readonly client: Client;
  readonly #tokens: TokenSource | undefined;

  constructor(client: Client, tokens: TokenSource | undefined) {
    this.client = client;
    this.#tokens = tokens;
  }

  /** Makes a call; when the server does not accept the token, renews it and makes the call once more. */
  async call<T>(makeCall: (headers: Record<string, string>) => Promise<T>): Promise<T> {
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
