import { status } from '@grpc/grpc-js';
import { KindlingError } from '../../protocol/error.ts';
import { WorkflowService } from '../../protocol/generated/tink-legacy_pb.js';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { hasGrpcCode } from '../connection/explain.ts';
import type { WorkflowChannel } from './channel.ts';

const DEADLINE_MS = 10_000;

/**
 * Asks for legacy contexts: a legacy server answers at once, a current one says at once that it has no such method. Never the
 * other way round: GetAction would hang for a minute on a server that has it.
 */
export async function detectDialect(channel: WorkflowChannel, workerId: string): Promise<TinkDialect> {
  try {
    const { getWorkflowContexts } = WorkflowService.method;
    await channel.collect(getWorkflowContexts, { workerId }, { deadlineMs: DEADLINE_MS });
    return 'tink-legacy';
  } catch (error) {
    if (!hasGrpcCode(error, status.UNIMPLEMENTED)) throw error;
    // A web server that answers 404 is turned into UNIMPLEMENTED, too: that is a wrong address, not a dialect.
    const httpStatus = /HTTP status code (\d+)/.exec(error.details)?.[1];
    if (httpStatus !== undefined) {
      throw new KindlingError('KND_SERVER_HTTP_STATUS', `the workflow server answered HTTP ${httpStatus}`, {
        cause: error,
        hint: 'Something that is not a workflow server listens there: check grpc_authority or tink_server_svc.',
      });
    }
    if (error.details.includes('unknown service')) {
      throw new KindlingError(
        'KND_SERVER_PROTOCOL',
        `the server has no proto.WorkflowService: ${error.details}`,
        {
          cause: error,
          hint: 'tink 0.8 and older are not supported; check that the address is that of the workflow server.',
        },
      );
    }
    return 'tink-current';
  }
}
