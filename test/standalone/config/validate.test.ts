import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { formatIssue } from '../../../standalone/config/issue.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import fc from '../../seeds/fast-check.ts';
import { clusterConfig, findingsOf, validConfig } from './example.ts';

describe('a config file', () => {
  test('that is right has no finding at all', () => {
    expect(findingsOf(validConfig())).toEqual([]);
    expect(findingsOf(clusterConfig())).toEqual([]);
  });

  test('is told everything at once, in the order of the file, with line and column', () => {
    const text = [
      'version: 2.0',
      'operatingSystem:',
      '  users:',
      '    - username: Root',
      '      pasword: x',
      '  hostname: a_b',
      'dsk: {}',
    ].join('\n');
    const lines = validateConfig(text).issues.map((issue) => formatIssue('c.yaml', issue));
    expect(lines).toEqual([
      'c.yaml:1:10: error CFG003 version: version must be 1.0',
      'c.yaml:3:3: error OS103 operatingSystem.users: no way to log in: no user has a password or an SSH key (--allow-no-login lets it pass)',
      expect.stringContaining(
        'c.yaml:4:17: error OS101 operatingSystem.users[0].username: "Root" is not a user name',
      ),
      'c.yaml:5:16: error CFG002 operatingSystem.users[0].pasword: unknown key "pasword" (did you mean "password"?)',
      expect.stringContaining('c.yaml:6:13: error OS112 operatingSystem.hostname: "a_b"'),
      'c.yaml:7:1: error CFG002 dsk: unknown key "dsk" (did you mean "disk"?)',
    ]);
  });

  test('with only warnings is valid, and invalid with --strict', () => {
    const text = stringify({ ...validConfig(), image: { profile: 'emt', protection: 'encryption' } });
    expect(validateConfig(text).isValid).toBe(true);
    expect(validateConfig(text, { strict: true }).isValid).toBe(false);
  });

  test('without a way to log in, or with a short password, is invalid unless it was asked for', () => {
    const users = [{ username: 'a' }];
    const locked = stringify({ version: '1.0', operatingSystem: { users } });
    expect(validateConfig(locked).isValid).toBe(false);
    expect(validateConfig(locked, { allowNoLogin: true, strict: true }).isValid).toBe(true);
    const short = stringify({
      version: '1.0',
      operatingSystem: { users: [{ username: 'a', password: 'c2VjcmV0' }] },
    });
    expect(validateConfig(short).isValid).toBe(false);
    expect(validateConfig(short, { allowShortPassword: true, strict: true }).isValid).toBe(true);
  });

  test('a notice never makes it invalid', () => {
    const config = clusterConfig((spec) => {
      spec.serverConfig.serviceCidr = '10.60.0.0/16';
    });
    expect(validateConfig(stringify(config), { strict: true }).isValid).toBe(true);
  });

  test('a list item of the wrong type does not move the place of the items after it', () => {
    const config = clusterConfig((spec) => {
      spec.preK3sCommands = [1, ''];
    });
    const paths = findingsOf(config).map(({ path }) => path.replace(/.*\./, ''));
    expect(paths).toEqual(['preK3sCommands[0]', 'preK3sCommands[1]']);
  });

  test('whatever it holds, the answer is findings and never an exception', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, '', 'x', 0, -1, 1.5, true, '10.0.0.0/8', '/etc/a'),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom(
            'version',
            'operatingSystem',
            'kubernetes',
            'nodes',
            'users',
            'spec',
            'template',
            'files',
            'match',
            'network',
            'kthreesConfigSpec',
            'serverConfig',
            'disk',
            'image',
            'proxy',
            'writeFiles',
          ),
          tie('any'),
          { maxKeys: 5 },
        ),
      ),
    })).any;
    fc.assert(
      fc.property(value, (config) => {
        expect(Array.isArray(validateConfig(stringify(config)).issues)).toBe(true);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(Array.isArray(validateConfig(text).issues)).toBe(true);
      }),
    );
  });
});

describe('entries of nodes', () => {
  const text = stringify({
    ...validConfig(),
    disk: { bus: 'nvme', minSizeGiB: 10 },
    nodes: [
      { match: { serial: 'A1' }, operatingSystem: { hostname: 'one' }, disk: { bus: 'sata' } },
      { match: { mac: '52:54:00:00:00:02' }, operatingSystem: { hostname: 'bad_name' } },
    ],
  });

  test('are laid over the file: maps merge, values replace; unknown machines get the file as it is', () => {
    const { machines } = validateConfig(text);
    expect(machines.map(({ match }) => match)).toEqual([
      { serial: 'A1' },
      { mac: '52:54:00:00:00:02' },
      'default',
    ]);
    expect(machines[0]?.config.operatingSystem).toMatchObject({
      hostname: 'one',
      users: [{ username: 'edge' }],
    });
    expect(machines[0]?.config.disk).toEqual({ bus: 'sata', minSizeGiB: 10 });
    expect(machines[2]?.config.operatingSystem?.hostname).toBeUndefined();
  });

  test('are checked too, and the finding names the place in the entry', () => {
    const { issues } = validateConfig(text);
    expect(issues).toEqual([
      expect.objectContaining({
        code: 'OS112',
        path: 'nodes[1].operatingSystem.hostname',
        line: expect.any(Number),
      }),
    ]);
  });

  test('a finding in the common part is told once, not once per node', () => {
    const found = findingsOf(text.replace('username: edge', 'username: Edge'));
    expect(found.filter(({ code }) => code === 'OS101')).toHaveLength(1);
  });
});

describe('the installer proposal’s own example', () => {
  const text = readFileSync(new URL('./proposal-example.txt', import.meta.url), 'utf8');
  const { issues, config } = validateConfig(text, { k3sVersion: 'v1.33.0+k3s1' });

  test('is valid, with a warning for everything that is not quite right', () => {
    expect(issues.map(({ code, severity, line }) => `${line} ${severity} ${code}`)).toEqual([
      '10 warning OS105',
      '17 warning K8S203',
      '20 warning K8S211',
      '22 warning K8S224',
      '29 warning K8S239',
      '30 warning CFG006',
      '38 warning K8S235',
    ]);
  });

  test('another K3s version in the image is an error', () => {
    expect(findingsOf(text, { k3sVersion: 'v1.34.1+k3s1' })).toContainEqual(
      expect.objectContaining({ code: 'K8S206', line: 19 }),
    );
  });

  test('is read into the shape of v1beta2', () => {
    expect(config.kubernetes?.spec?.template?.spec?.kthreesConfigSpec).toMatchObject({
      version: 'v1.33.0+k3s1',
      files: [{ path: '/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl' }],
      serverConfig: { clusterCidr: '10.42.0.0/16' },
    });
  });
});
