import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { renderReference } from '../../../standalone/bootstrap/reference-cloud-init.ts';
import { hashPasswords } from '../../../standalone/cloud-init/hash-passwords.ts';
import { renderMachine } from '../../../standalone/cloud-init/render-machine.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import { migrateHybrid } from '../../../standalone/migrate/migrate-hybrid.ts';
import { migrateTemplate } from '../../../standalone/migrate/migrate-template.ts';
import { clusterConfig, type Draft, SSH_KEY, systemConfig } from '../config/example.ts';
import { emfTemplate } from '../migrate/emf-template.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-cloud-init-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the real cloud-init says about a user-data text. */
async function cloudInitSchema(text: string): Promise<{ exitCode: number | undefined; output: string }> {
  const file = join(folder, 'user-data');
  writeFileSync(file, text);
  const { exitCode, stdout, stderr } = await execa('cloud-init', ['schema', '--config-file', file], {
    reject: false,
  });
  if (exitCode === undefined) throw new Error('cloud-init is missing: install the Debian package cloud-init');
  return { exitCode, output: stdout + stderr };
}

async function rendered(config: Draft): Promise<string> {
  const { machines, isValid, issues } = validateConfig(stringify(config), { allowNoLogin: true });
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(isValid).toBe(true);
  return renderMachine(await hashPasswords(machines.at(-1)?.config ?? {})).userData;
}

const EVERYTHING = systemConfig((os) => {
  Object.assign(os, {
    hostname: 'edge-1',
    sshKey: SSH_KEY,
    users: [
      { username: 'edge', password: 'c2VjcmV0c2VjcmV0', groups: ['adm'] },
      { username: 'root', password: 'c2VjcmV0c2VjcmV0' },
    ],
    proxy: { httpProxy: 'http://proxy:911', noProxy: 'localhost' },
    ntpServers: ['time.example.com'],
    timezone: 'Europe/Berlin',
    hugePages: 64,
    services: { enable: ['ssh'] },
    writeFiles: [
      { path: '/opt/a', content: 'yes', permissions: '0600', owner: 'root:root', append: true },
      { path: '/opt/b', content: 'aGk=', encoding: 'base64' },
    ],
    runCommands: ['on', ['echo', '0644']],
  });
});

const SECRETS = new Map([['pod-security-admission-config/baseline.yaml', 'kind: AdmissionConfiguration\n']]);

describe('real cloud-init accepts', () => {
  test.each<[string, Draft]>([
    ['the smallest configuration', systemConfig(() => {})],
    ['every setting of the operating system', EVERYTHING],
    ['a cluster', clusterConfig()],
    ['a cluster on an immutable image', { ...clusterConfig(), image: { profile: 'emt', artifacts: 'x' } }],
    ['a container host', systemConfig((os) => Object.assign(os, { hostType: 'container' }))],
    ['a migrated hybrid file', migrateHybrid('user_name="user"\nhost_type="kubernetes"\n').config],
    ['a migrated EMF template', migrateTemplate(emfTemplate('baseline'), SECRETS).config],
  ])('%s', async (_, config) => {
    const { exitCode, output } = await cloudInitSchema(await rendered(config));
    expect(output).toContain('Valid cloud-config');
    expect(exitCode).toBe(0);
  });

  test('the output of parity mode, with its Jinja header', async () => {
    const spec = { files: [{ path: '/etc/a', content: 'x' }], agentConfig: { airGapped: true } };
    const text = renderReference({ spec, token: '00', withEtcdProxy: true }).replace(
      '## template: jinja\n',
      '',
    );
    expect((await cloudInitSchema(text)).output).toContain('Valid cloud-config');
  });
});

test('and refuses what is wrong, so that its word means something', async () => {
  const { exitCode, output } = await cloudInitSchema('#cloud-config\nruncmd: []\nservices: {}\n');
  expect(exitCode).not.toBe(0);
  expect(output).toMatch(/runcmd|services/);
});
