import { create } from '@bufbuild/protobuf';
import type { StubOptions } from '../../orchestrator-stub/serve.ts';
import {
  CreateNodesRequestSchema,
  InteractiveOnboardingService,
} from '../../protocol/generated/onboarding_pb.js';
import {
  type ActionResponse,
  ActionStatusRequest_StateType,
  ActionStatusRequestSchema,
  WorkflowService,
} from '../../protocol/generated/tink-current_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { type ApiAnswer, NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { storedInstance } from '../orchestrator-stub/seal/test-seal.ts';

export interface Machine {
  uuid: string;
  serialnum: string;
  macId: string;
}

export const HONEST: Machine = { uuid: NODE.uuid, serialnum: NODE.serialnum, macId: NODE.macId };
export const OTHER: Machine = {
  uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c6',
  serialnum: 'OTHER1234',
  macId: '52:54:00:12:34:57',
};
export const PERSON = { name: 'kim', password: 'correct horse battery' };

/** A machine that nobody has heard of. */
export function ghost(number: number): Machine {
  const digits = number.toString(16).padStart(4, '0');
  return {
    uuid: `6f8a3c1e-0d2b-4a77-9c55-00000000${digits}`,
    serialnum: `GHOST${digits}`,
    macId: `52:54:00:99:${digits.slice(0, 2)}:${digits.slice(2)}`,
  };
}

/** A site with TLS and tokens, as `kindling serve` starts it, and what operators, nodes and strangers say to it. */
export class AttackedSite implements AsyncDisposable {
  readonly running: RunningStub;

  private constructor(running: RunningStub) {
    this.running = running;
  }

  static async start(options: Partial<StubOptions> = {}): Promise<AttackedSite> {
    const user = PERSON;
    return new AttackedSite(
      await RunningStub.start({ port: 0, plainPort: false, user, holdMs: 200, ...options }),
    );
  }

  async register(json: Record<string, unknown>): Promise<ApiAnswer['body']> {
    return (await this.running.api('POST', '/api/v1/nodes', { json })).body;
  }

  async node(key: string): Promise<ApiAnswer['body']> {
    return (await this.running.api('GET', `/api/v1/nodes/${key}`)).body;
  }

  async profile(more: Record<string, unknown> = {}): Promise<void> {
    const json = { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64), ...more };
    const answer = await this.running.api('PUT', '/api/v1/profiles/edge', { json });
    if (answer.status !== 200) throw new Error(answer.text);
  }

  /** Registers a machine with a profile and lets it in: its access token. */
  async install({ uuid, serialnum, macId }: Machine): Promise<{ id: string; token: string }> {
    const { id } = await this.register({ uuid, serial: serialnum, autoOnboard: true, profile: 'edge' });
    const token = await this.running.accessToken(await this.running.knock({ uuid, serialnum, macId }));
    await this.workflowOf({ uuid });
    return { id, token };
  }

  /** The operator's view of a machine's workflow, once there is one. */
  async workflowOf({ uuid }: Pick<Machine, 'uuid'>, generation = 1): Promise<ApiAnswer['body']> {
    for (let tries = 0; tries < 200; tries += 1) {
      const answer = await this.running.api('GET', `/api/v1/workflows/workflow-${uuid}-g${generation}`);
      if (answer.status === 200) return answer.body;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`${uuid} has no workflow`);
  }

  /** Without a token, as everything that says itself to be a machine. */
  discover(identity: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<ApiAnswer> {
    return this.running.api('POST', '/api/v1/discovery', {
      json: { identity: { macs: [], nodeId: 'x', ...identity }, ...more },
      token: null,
    });
  }

  createNodes(token: string, { uuid, serialnum, macId }: Machine): Promise<unknown> {
    const hwdata = [{ uuid, serialnum, macId, sutIp: '10.0.0.9' }];
    return callUnary(
      this.running.client(),
      InteractiveOnboardingService.method.createNodes,
      create(CreateNodesRequestSchema, { payload: [{ hwdata }] }),
      { headers: { authorization: `Bearer ${token}` } },
    );
  }

  getAction(token: string, agentId: string): Promise<ActionResponse> {
    return callUnary(
      this.running.client(),
      WorkflowService.method.getAction,
      { agentId },
      { headers: { authorization: `Bearer ${token}` } },
    ) as Promise<ActionResponse>;
  }

  /** Reports every action as done, and the first boot of what was installed. */
  async finish(token: string, { uuid, macId }: Machine): Promise<void> {
    const { actions } = await this.workflowOf({ uuid });
    for (let count = 0; count < actions.length; count += 1) {
      const { workflowId, taskId, actionId } = await this.getAction(token, macId);
      for (const actionState of [
        ActionStatusRequest_StateType.RUNNING,
        ActionStatusRequest_StateType.SUCCESS,
      ]) {
        await callUnary(
          this.running.client(),
          WorkflowService.method.reportActionStatus,
          create(ActionStatusRequestSchema, { workflowId, taskId, actionId, agentId: macId, actionState }),
          { headers: { authorization: `Bearer ${token}` } },
        );
      }
    }
    const key = storedInstance(this.running.folder)?.firstBootKey;
    await this.running.api('POST', `/api/v1/first-boot/${key}`, { json: {}, token: null });
  }

  signIn({ name, password } = PERSON): Promise<ApiAnswer> {
    return this.running.grant(
      new URLSearchParams({ grant_type: 'password', client_id: 'system-client', username: name, password }),
    );
  }

  refresh(refreshToken: string): Promise<ApiAnswer> {
    return this.running.grant(
      new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: 'system-client',
        refresh_token: refreshToken,
      }),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.running[Symbol.asyncDispose]();
  }
}
