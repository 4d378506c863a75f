import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packCustomConfigs } from '../../../orchestrator-stub/provisioning/custom-configs.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kindling-configs-'));
  mkdirSync(join(root, 'etc/cloud/cloud.cfg.d'), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true }));

/** What the actions custom-configs and custom-configs-split do on the node, with `root` as its root. */
function unpack({ text, splitCommand }: ReturnType<typeof packCustomConfigs>): Record<string, string> {
  const here = (command: string) => command.replaceAll('/etc/cloud', `${root}/etc/cloud`);
  writeFileSync(join(root, 'etc/cloud/cloud.cfg.d/custom.cfg'), text);
  execFileSync('/bin/sh', ['-c', here(splitCommand)]);
  expect(readdirSync(join(root, 'etc/cloud')), 'nothing is left behind').toEqual(['cloud.cfg.d']);
  const folder = join(root, 'etc/cloud/cloud.cfg.d');
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

describe('custom configs', () => {
  test('are sorted by name and end up as they were', () => {
    const configs = [
      { name: 'b', content: '#cloud-config\nwrite_files: [{path: /x, content: y}]\n' },
      { name: 'a', content: '#!/bin/sh\necho "a" % \\n\n' },
    ];
    expect(unpack(packCustomConfigs(configs, false))).toEqual({
      '00_infra.cfg': '#!/bin/sh\necho "a" % \\n\n',
      '01_infra.cfg': '#cloud-config\nwrite_files: [{path: /x, content: y}]\n',
    });
  });

  test('of a standalone node: files are written while it is provisioned, and the configs say no more of them', () => {
    const zipped = gzipSync('from gzip\n').toString('base64');
    const content = `#cloud-config
# why this is here
runcmd: [touch /a]
write_files:
  - path: ${root}/opt/it's here/a.sh
    permissions: '0750'
    content: |
      #!/bin/sh
      echo "$HOME"
  - {path: ${root}/opt/b64, encoding: b64, content: ${Buffer.from('bytes').toString('base64')}, owner: 'nobody-here:x'}
  - {path: ${root}/opt/zipped, encoding: gz+b64, content: ${zipped}}
  - {path: ${root}/opt/b64, append: true, content: ' and more'}
`;
    const left = unpack(packCustomConfigs([{ name: 'a', content }], true));
    expect(left).toEqual({ '00_infra.cfg': '#cloud-config\n# why this is here\nruncmd: [ touch /a ]\n' });
    expect(readFileSync(join(root, "opt/it's here/a.sh"), 'utf8')).toBe('#!/bin/sh\necho "$HOME"\n');
    expect(statSync(join(root, "opt/it's here/a.sh")).mode & 0o777).toBe(0o750);
    expect(readFileSync(join(root, 'opt/b64'), 'utf8')).toBe('bytes and more');
    expect(readFileSync(join(root, 'opt/zipped'), 'utf8')).toBe('from gzip\n');
  });

  test.each([
    ['no cloud-config', '#!/bin/sh\nwrite_files: []\n'],
    ['broken YAML', '#cloud-config\nwrite_files: [\n'],
    ['a file without a path', '#cloud-config\nwrite_files: [{content: x}]\n'],
    ['no files', '#cloud-config\nruncmd: [x]\n'],
  ])('of a standalone node stay as they are: %s', (_case, content) => {
    expect(unpack(packCustomConfigs([{ name: 'a', content }], true))).toEqual({ '00_infra.cfg': content });
  });

  test('a config of files alone leaves an empty cloud-config', () => {
    const content = `#cloud-config\nwrite_files: [{path: ${root}/only, content: x}]\n`;
    expect(unpack(packCustomConfigs([{ name: 'a', content }], true))).toEqual({
      '00_infra.cfg': '#cloud-config\n',
    });
  });
});
