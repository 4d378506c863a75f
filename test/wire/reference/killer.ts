import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import type { GrpcHost } from './grpc-host.ts';

/** Comes back after this: long enough for an agent to notice. */
const DOWN_MS = 30;

/**
 * Kills a server once before it handles each step, and once after it has handled it but before the reply is out. A step is a
 * call and how far the workflow is.
 */
export class Killer {
  /** Set once the server is there. */
  host: GrpcHost | undefined;
  readonly killedAt: string[] = [];
  readonly #progress: () => number;

  constructor(progress: () => number) {
    this.#progress = progress;
  }

  readonly interceptor: ServerInterceptor = (method, call) => {
    const step = `${method.path.split('/').at(-1)} at ${this.#progress()}`;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMessage: (message, deliver) => {
            if (!this.#kill(`${step}, before`)) deliver(message);
          },
        }),
      sendMessage: (message, send) => {
        if (!this.#kill(`${step}, reply lost`)) send(message);
      },
    });
  };

  #kill(when: string): boolean {
    if (this.killedAt.includes(when) || !this.host) return false;
    this.killedAt.push(when);
    const { host } = this;
    host.kill();
    setTimeout(() => void host.start(), DOWN_MS);
    return true;
  }
}
