import { describe, expect, test } from 'vitest';
import { NODE, type RunningStub } from '../running-stub.ts';
import { InstalledSystem } from './installed-system.ts';
import { provisionNode } from './provisioned-node.ts';

const INSTALLER_DONE = '/home/postinstall/Setup/.base_pkg_install_done';

/** systemctl as the script uses it: agents are up with these properties, or do not start at all. */
const systemctl = (
  answers: { active?: string; restarts?: number; starts?: boolean; failed?: string } = {},
) => `case "$*" in
  list-units*) echo '${answers.failed ?? ''}';;
  *ActiveState*) echo ${answers.active ?? 'active'};;
  *NRestarts*) echo ${answers.restarts ?? 0};;
  *ExecMainStatus*) echo 3;;
  restart*) ${answers.starts === false ? 'exit 1' : ':'};;
esac`;

async function nodeOf(running: RunningStub) {
  const { body } = await running.api('GET', `/api/v1/nodes/${NODE.uuid}`);
  const { body: floor } = await running.api('GET', '/api/v1/nodes');
  return {
    status: body.status,
    floor: floor.nodes[0].status,
    agents: body.agents,
    firstBoot: body.firstBoot,
  };
}

/** An installed system whose scripts wait for nothing. */
async function systemOf(cloudInit: string): Promise<InstalledSystem> {
  const system = await InstalledSystem.of(cloudInit);
  await system.program('sleep', ':');
  await system.program('systemctl', systemctl());
  return system;
}

describe('a system without agents', () => {
  test('runs when it has booted, and tells of what failed on it', async () => {
    const { running, cloudInit } = await provisionNode({});
    await using _running = running;
    await using system = await systemOf(cloudInit);
    expect(system.config.write_files.map((file) => file.path)).not.toContain('/opt/kindling/agents.sh');
    await system.program(
      'systemctl',
      systemctl({ failed: 'nginx.service loaded failed failed A web server' }),
    );
    expect(await system.start('/opt/kindling/first-boot.sh')).toMatchObject({ code: 0 });
    expect(await nodeOf(running)).toMatchObject({
      status: 'Running',
      floor: 'running',
      agents: null,
      firstBoot: { cloudInit: 'done', failedUnits: ['nginx.service'] },
    });
  });
});

describe.each([
  { osType: 'MUTABLE', agents: { services: ['node-agent.service'], packages: ['node-agent'] } },
  { osType: 'IMMUTABLE', agents: { services: ['node-agent.service'] } },
])('a system that is $osType with agents', (profile) => {
  test('runs only when they do: first it installs them, and a failure is told with its reason', async () => {
    const { running, cloudInit } = await provisionNode(profile);
    await using _running = running;
    await using system = await systemOf(cloudInit);
    // 1. It has booted
    await system.start('/opt/kindling/first-boot.sh');
    expect(await nodeOf(running)).toMatchObject({ status: 'Installing agents', floor: 'installing-agents' });
    await system.write(INSTALLER_DONE, '');
    // 2. An agent dies again and again, then one does not start at all
    await system.program('systemctl', systemctl({ active: 'activating', restarts: 4 }));
    expect((await system.start('/opt/kindling/agents.sh')).code).toBe(1);
    expect(await nodeOf(running)).toMatchObject({
      status:
        'Agents failed: node-agent.service is activating, ended with status 3 and was started again 4 times',
      floor: 'agents-failed',
    });
    await system.program('systemctl', systemctl({ starts: false }));
    expect((await system.start('/opt/kindling/agents.sh')).code).toBe(1);
    expect((await nodeOf(running)).status).toBe('Agents failed: node-agent.service does not start');
    // 3. cloud-init failed: the files of the hand-over may be incomplete
    await system.program('cloud-init', 'printf "status: error\\nerrors:\\n- no disk space\\n"');
    expect((await system.start('/opt/kindling/agents.sh')).code).toBe(1);
    expect((await nodeOf(running)).status).toMatch(/^Agents failed: cloud-init: errors: - no disk space/);
    // 4. Everything is well at last
    await system.program('cloud-init', 'echo status: done');
    await system.program('systemctl', systemctl());
    expect(await system.start('/opt/kindling/agents.sh')).toMatchObject({ code: 0 });
    expect(await nodeOf(running)).toMatchObject({
      status: 'Running',
      floor: 'running',
      agents: { state: 'ready' },
    });
    // 5. An immutable system forgets that it has reported: the node stays finished
    await system.start('/opt/kindling/first-boot.sh');
    expect((await nodeOf(running)).status).toBe('Running');
  });
});

test('an installer that fails is told while it is tried again, and its end is waited for', async () => {
  const { running, cloudInit } = await provisionNode({ installerScript: '#!/bin/sh\nexit 3\n' });
  await using _running = running;
  await using system = await systemOf(cloudInit);
  await system.program('systemctl', systemctl({ restarts: 1 }));
  // It would wait for the installer now.
  await system.program('sleep', 'kill $PPID');
  await system.start('/opt/kindling/agents.sh');
  expect((await nodeOf(running)).status).toBe(
    'Agents failed: install-profile-pkgs-and-node-agent.service ended with status 3 and is not done; it is tried again',
  );
  await system.program('sleep', ':');
  await system.write(INSTALLER_DONE, '');
  expect(await system.start('/opt/kindling/agents.sh')).toMatchObject({ code: 0 });
  expect((await nodeOf(running)).status).toBe('Running');
});
