import { stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { InstalledSystem } from './installed-system.ts';
import { provisionNode } from './provisioned-node.ts';

const AGENT = new URL('stand-in-agent.sh', import.meta.url).pathname;
const HANDED_OVER = {
  '/etc/edge-node/node/agent_variables': 0o644,
  '/etc/intel_edge_node/orch-ca-cert/orch-ca.crt': 0o644,
  '/etc/intel_edge_node/tenantId': 0o644,
  '/etc/intel_edge_node/client-credentials/client_id': 0o600,
  '/etc/intel_edge_node/client-credentials/client_secret': 0o600,
};

describe.each(['MUTABLE', 'IMMUTABLE'])('an agent on a system that is %s', (osType) => {
  test('gets a token and calls the orchestrator with the files of the hand-over, and with none missing', async () => {
    const { running, cloudInit } = await provisionNode({ osType });
    await using _running = running;
    await using system = await InstalledSystem.of(cloudInit);
    const agent = () => system.run('sh', [AGENT, system.root]);
    expect(await agent()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ey/) });
    for (const [file, mode] of Object.entries(HANDED_OVER)) {
      expect((await stat(system.at(file))).mode & 0o777, file).toBe(mode);
      const content = system.config.write_files.find((each) => each.path === file);
      await system.remove(file);
      expect((await agent()).code, `without ${file}`).not.toBe(0);
      await system.write(file, content?.content ?? '', content?.permissions);
    }
  });
});
