import { afterEach, expect, it } from 'vitest';
import { createExecutor } from '../../agent/workflow/execute-action.ts';
import { State } from '../../protocol/generated/tink-legacy_pb.js';
import { type GrpcHost, startGrpcHost } from './reference/grpc-host.ts';
import { MAC, removeFolder, startTestAgent, type TestAgent } from './reference/test-agent.ts';
import { TinkLegacyServer } from './reference/tink-legacy-server.ts';

let agent: TestAgent | undefined;
let host: GrpcHost | undefined;

afterEach(async () => {
  await agent?.stop();
  if (agent) removeFolder(agent);
  host?.kill();
});

async function runWith(actions: TinkLegacyServer['actions']): Promise<TinkLegacyServer> {
  const tink = new TinkLegacyServer(MAC, actions);
  host = await startGrpcHost(tink.addTo);
  agent = startTestAgent({
    kernel: `grpc_authority=${host.authority} tinkerbell_tls=false`,
    options: { executor: createExecutor((environment) => environment) },
  });
  await agent.ended;
  return tink;
}

it('the reboot action of EMF, from a public registry, is run natively, and hands over after the report (trap 13)', async () => {
  const image = 'public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest';
  const tink = await runWith([{ taskName: 'os', name: 'reboot', image, timeout: 90n }]);
  expect(tink.accepted).toEqual(['reboot RUNNING', 'reboot SUCCESS']);
  expect(agent?.handedOver).toEqual([{ kind: 'reboot' }]);
});

it('an action with wrong variables fails with its own code, which the server hears', async () => {
  const tink = await runWith([
    {
      taskName: 'os',
      name: 'write',
      image: 'x/writefile:1',
      timeout: 90n,
      environment: ['DEST_DISK=/dev/nonexistent'],
    },
  ]);
  expect(tink.states).toEqual([State.FAILED]);
  expect(tink.reports.at(-1)?.message).toMatch(/^KND_ACTION_VARIABLES: /);
});
