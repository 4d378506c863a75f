import { status } from '@grpc/grpc-js';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { hasGrpcCode } from '../connection/explain.ts';
import type { WorkflowChannel } from './channel.ts';
import { detectDialect } from './detect-dialect.ts';
import { type Attributes, TinkCurrent } from './tink-current.ts';
import { TinkLegacy } from './tink-legacy.ts';
import type { ReportAnswer, StatusReport, Work, WorkflowServer } from './work.ts';

export interface AnyDialectOptions {
  channel: WorkflowChannel;
  workerId: string;
  attributes: Attributes;
  dialect: TinkDialect | 'auto';
  onDetected?: (dialect: TinkDialect) => void;
}

/** A workflow server whose dialect is found out on first use, and again when the server behind the address was replaced. */
export class AnyDialect {
  readonly #options: AnyDialectOptions;
  #server: WorkflowServer | undefined;

  constructor(options: AnyDialectOptions) {
    this.#options = options;
  }

  get storesProgress(): boolean {
    return this.#server?.storesProgress ?? false;
  }

  get dialect(): TinkDialect | undefined {
    return this.#server?.dialect;
  }

  async nextAction(signal?: AbortSignal): Promise<Work | undefined> {
    return this.#with((server) => server.nextAction(signal));
  }

  async report(work: Work, report: StatusReport): Promise<ReportAnswer> {
    return this.#with(async (server) =>
      // Ids of one dialect mean nothing in the other: the server that gave this work is gone.
      server.dialect === work.dialect ? server.report(work, report) : 'superseded',
    );
  }

  async #with<T>(use: (server: WorkflowServer) => Promise<T>): Promise<T> {
    this.#server ??= await this.#connect();
    try {
      return await use(this.#server);
    } catch (error) {
      if (hasGrpcCode(error, status.UNIMPLEMENTED)) this.#server = undefined;
      throw error;
    }
  }

  async #connect(): Promise<WorkflowServer> {
    const { channel, workerId, attributes, onDetected } = this.#options;
    const isAuto = this.#options.dialect === 'auto';
    const dialect = isAuto ? await detectDialect(channel, workerId) : (this.#options.dialect as TinkDialect);
    onDetected?.(dialect);
    return dialect === 'tink-legacy'
      ? new TinkLegacy(channel, workerId)
      : new TinkCurrent(channel, workerId, attributes);
  }
}
