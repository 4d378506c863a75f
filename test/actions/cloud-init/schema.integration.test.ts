import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkUserData } from '../../../actions/cloud-init/check-user-data.ts';
import { loadCloudInitSchema } from '../../../actions/cloud-init/cloud-init-schema.ts';
import type { JsonSchema } from '../../../actions/cloud-init/json-schema.ts';

let folder: string;
let schema: JsonSchema | undefined;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-schema-'));
  schema = await loadCloudInitSchema();
});
afterAll(() => rm(folder, { recursive: true }));

const good = [
  'hostname: a\nruncmd:\n  - echo a\n  - [echo, b]\n',
  'users:\n  - default\n  - name: b\n    lock_passwd: true\n    ssh_authorized_keys: [ssh-ed25519 AAAA]\n',
  'apt:\n  sources:\n    x: {source: "deb http://a b c"}\nntp: {enabled: true, servers: [a.b]}\n',
  'growpart: {mode: auto, devices: [/]}\nresize_rootfs: noblock\n',
  'power_state: {mode: reboot, delay: now, timeout: 30}\n',
];
const wrong = [
  ['users:\n  - name: b\n    lock_passwd: maybe\n', 'users.0'],
  ['ntp: {servers: a.b}\n', 'ntp.servers'],
  ['growpart: {mode: sometimes}\n', 'growpart.mode'],
  ['power_state: {delay: now}\n', '"mode" is missing'],
  ['ca_certs: {trusted: x}\n', 'ca_certs.trusted'],
  ['swap: {filename: 7}\n', 'swap.filename'],
  ['timezone: [a]\n', 'timezone'],
  ['mounts:\n  - not a list\n', 'mounts.0'],
] as const;

/** What the real program says. */
async function verdict(text: string): Promise<boolean> {
  const file = path.join(folder, 'user-data');
  await writeFile(file, `#cloud-config\n${text}`);
  return (await execa('cloud-init', ['schema', '-c', file], { reject: false })).exitCode === 0;
}

describe('cloud-init’s own schema', () => {
  it.each(good)('%j is good for cloud-init and for us', async (text) => {
    expect(checkUserData(`#cloud-config\n${text}`, schema, 'strict')).toEqual([]);
    expect(await verdict(text)).toBe(true);
  });

  it.each(wrong)('%j is wrong for cloud-init and for us, at %s', async (text, where) => {
    const problems = checkUserData(`#cloud-config\n${text}`, schema);
    expect(problems.join('; ')).toContain(where);
    expect(problems.join('; ')).toMatch(/^line \d: /);
    expect(await verdict(text)).toBe(false);
  });

  it('a name that only a newer cloud-init knows is no reason to refuse, but is told', () => {
    const text = '#cloud-config\nntp: {enabled: true, brand_new: 1}\n';
    expect(checkUserData(text, schema)).toEqual([]);
    expect(checkUserData(text, schema, 'strict').join()).toContain('ntp.brand_new: is not known here');
  });
});
