import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readOrchestratorAccess } from '../../../lab/qemu/orchestrated-node.ts';
import { openAuthority } from '../../../site/authority.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'kindling-orchestrated-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const serves = (url: string) => writeFileSync(join(state, 'server-url'), `${url}\n`);

it('a machine gets the orchestrator’s address as it sees it, and its CA', async () => {
  const { ca } = await openAuthority(state, ['10.0.2.2']);
  serves('https://localhost:8443');
  expect(readOrchestratorAccess(state)).toEqual({ url: 'https://10.0.2.2:8443', ca });
});

it('a certificate that no machine would take is refused before anything boots', async () => {
  await openAuthority(state, []);
  serves('https://localhost:8443');
  expect(() => readOrchestratorAccess(state)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('10.0.2.2'),
      hint: expect.stringContaining('serve --name 10.0.2.2'),
    }),
  );
});

it('without TLS there is nothing to trust; without an orchestrator there is nothing to do', () => {
  expect(() => readOrchestratorAccess(state)).toThrow('no orchestrator has used the state folder');
  serves('http://localhost:8080');
  expect(readOrchestratorAccess(state)).toEqual({ url: 'http://10.0.2.2:8080', ca: undefined });
});
