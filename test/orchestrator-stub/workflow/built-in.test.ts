import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkUserData } from '../../../actions/cloud-init/check-user-data.ts';
import { createInstance } from '../../../orchestrator-stub/nodes/instance.ts';
import { ProfileSchema } from '../../../orchestrator-stub/nodes/profile.ts';
import { newHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { templateData } from '../../../orchestrator-stub/provisioning/inputs.ts';
import { SiteSettingsSchema } from '../../../orchestrator-stub/settings/site-settings.ts';
import { builtInTemplates } from '../../../orchestrator-stub/workflow/built-in.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { installAgentsScript } from '../../../system/first-boot/agents-script.ts';
import { firstBootScript } from '../../../system/first-boot/first-boot-script.ts';

const now = new Date('2026-11-16T03:00:00Z');
const CA = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const SB_FDE = 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION';

function workflow(
  template: string,
  profile: Record<string, unknown> = {},
  settings: Record<string, unknown> = {},
) {
  const host = {
    ...newHost(toHostId('host-1a2b3c4d'), 'p1', now),
    uuid: 'u1',
    reportedMac: '52:54:00:AA:bb:01',
    reportedIp: '10.0.2.15',
  };
  const data = templateData({
    host,
    instance: createInstance({
      id: 'inst-1',
      host,
      profile: 'p',
      keys: { firstBootKey: 'k1', escrowKey: 'escrow', neighborsKey: 'neighbors' },
      now,
    }),
    profile: ProfileSchema.parse({ name: 'p', imageUrl: 'https://images.test/os.raw.gz', ...profile }),
    settings: SiteSettingsSchema.parse(settings),
    hasNeighbors: settings['neighbours'] === true,
    inventory: undefined,
    client: { clientId: 'edgenode-u1', hostId: host.id, secret: 's3cret' },
    isQcow2: false,
    ca: CA,
    origin: 'https://10.0.2.2:8443',
  });
  const text = builtInTemplates().find(({ name }) => name === template)?.text ?? '';
  return defineWorkflow({
    id: 'w',
    hostId: host.id,
    generation: 1,
    template: { name: template, text },
    data,
    now,
  });
}

const steps = (definition: ReturnType<typeof workflow>) =>
  definition.actions.map(({ name, timeout }) => [name, timeout]);
const env = (definition: ReturnType<typeof workflow>, action: string) =>
  Object.fromEntries(
    (definition.actions.find(({ name }) => name === action)?.environment ?? []).map((entry) => {
      const at = entry.indexOf('=');
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );

const AGENTS = /^\/etc\/(?:intel_edge_node|edge-node\/node)\//;

/** What cloud-init places for the Edge Node Agents. */
function agentFiles(cloudInit: string): Record<string, object> {
  type WrittenFile = { path: string; permissions: string; content: string };
  const { write_files: files } = parse(cloudInit) as { write_files: WrittenFile[] };
  return Object.fromEntries(
    files
      .filter(({ path }) => AGENTS.test(path))
      .map(({ path, ...file }) => [path.replace(AGENTS, ''), file]),
  );
}

describe('microvisor (docs/background/emf.md#microvisor-template)', () => {
  test('has EMF’s eight actions with their timeouts', () => {
    const definition = workflow('microvisor', { osType: 'IMMUTABLE' });
    expect(definition.globalTimeout).toBe(9800);
    expect(steps(definition)).toEqual([
      ['secure-boot-status-flag-read', 560],
      ['erase-non-removable-disk', 560],
      ['stream-os-image', 9800],
      ['install-cloud-init', 90],
      ['cloud-init-ds-identity', 90],
      ['enable-security-features', 560],
      ['efibootset-for-diskboot', 560],
      ['reboot', 90],
    ]);
    const [first] = definition.actions;
    expect(first).toMatchObject({
      taskName: 'OS provisioning',
      workerId: '52:54:00:AA:bb:01',
      image: 'localhost:7443/edge-orch/infra/tinker-actions/securebootflag:1.21.1',
      volumes: ['/dev:/dev', '/dev/console:/dev/console', '/lib/firmware:/lib/firmware:ro', '/:/host:rw'],
      environment: ['SECURITY_FEATURE_FLAG=SECURITY_FEATURE_NONE'],
    });
    expect(definition.actions.at(-1)?.image).toBe(
      'public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest',
    );
  });

  test('custom configs add two actions and travel in one file', () => {
    const customConfigs = [
      { name: 'b', content: 'second: "x"\n' },
      { name: 'a', content: 'first: 1\n' },
    ];
    const definition = workflow('microvisor', { osType: 'IMMUTABLE', customConfigs });
    expect(steps(definition).slice(4, 6)).toEqual([
      ['custom-configs', 90],
      ['custom-configs-split', 200],
    ]);
    expect(definition.actions).toHaveLength(10);
    expect(env(definition, 'custom-configs')['CONTENTS']).toBe('first: 1\n\x1fsecond: "x"\n');
  });

  test('the security feature decides between verity alone and encryption', () => {
    const feature = (security: string) =>
      env(workflow('microvisor', { osType: 'IMMUTABLE', security }), 'enable-security-features');
    expect(feature('NONE')).toEqual({ LVM_SIZE: '0', ENABLE_ONLY_DMVERITY: 'true' });
    expect(feature(SB_FDE)).toEqual({
      LVM_SIZE: '0',
      ENABLE_ONLY_DMVERITY: 'false',
      // ours, beside EMF's: other agents ignore them
      KINDLING_ESCROW_URL: expect.stringMatching(/\/api\/v1\/recovery-keys\/escrow$/),
      TLS_CA_CERT: expect.any(String),
    });
  });

  test('trap 11: a path becomes an address of the local front, and “compressed” is a text', () => {
    const definition = workflow('microvisor', {
      osType: 'IMMUTABLE',
      imageUrl: 'files-edge-orch/repository/microvisor/edge.raw.gz',
      imageCaCert: 'PEM',
    });
    expect(env(definition, 'stream-os-image')).toEqual({
      IMG_URL: 'http://127.0.0.1/files-edge-orch/repository/microvisor/edge.raw.gz',
      SHA256: '',
      TLS_CA_CERT: Buffer.from('PEM').toString('base64'),
      COMPRESSED: 'true',
      HTTP_PROXY: '',
      HTTPS_PROXY: '',
      NO_PROXY: '',
    });
    expect(definition.actions[2]).toMatchObject({ pid: 'host' });
  });
});

describe('ubuntu (docs/background/emf.md#ubuntu-template)', () => {
  const PLAIN = [
    ['secure-boot-status-flag-read', 560],
    ['erase-non-removable-disk', 560],
    ['stream-os-image', 9800],
    ['add-apt-proxy', 90],
    ['install-cloud-init', 90],
    ['cloud-init-ds-identity', 90],
    ['profile-pkg-and-node-agents-install-script-download', 90],
    ['service-script-for-profile-pkg-and-node-agents-install', 90],
    ['system-configuration', 200],
    ['kernel-upgrade', 9800],
    ['efibootset-for-diskboot', 560],
    ['reboot', 90],
  ];

  test('has twelve actions, thirteen with encryption, two more with custom configs', () => {
    expect(steps(workflow('ubuntu'))).toEqual(PLAIN);
    const encrypted = steps(workflow('ubuntu', { security: SB_FDE }));
    expect(encrypted).toEqual(PLAIN.toSpliced(9, 0, ['fde-encryption', 560]));
    const customConfigs = [{ name: 'a', content: 'x' }];
    expect(workflow('ubuntu', { security: SB_FDE, customConfigs }).actions).toHaveLength(15);
  });

  test('files are written with EMF’s paths and modes, whatever the text in them', () => {
    const script = '#!/bin/sh\necho "$HOME: {{ not a template }} \\n"\n';
    const definition = workflow('ubuntu', { installerScript: script }, { httpProxy: 'http://proxy:911' });
    expect(env(definition, 'profile-pkg-and-node-agents-install-script-download')).toEqual({
      FS_TYPE: 'ext4',
      DEST_PATH: '/home/postinstall/Setup/installer.sh',
      CONTENTS: script,
      UID: '0',
      GID: '0',
      MODE: '0755',
      DIRMODE: '0755',
    });
    expect(env(definition, 'add-apt-proxy')['CONTENTS']).toBe(
      'Acquire::http::Proxy "http://proxy:911";\nAcquire::https::Proxy "";\n',
    );
    expect(env(definition, 'cloud-init-ds-identity')).toMatchObject({
      DEST_PATH: '/etc/cloud/ds-identify.cfg',
      CONTENTS: 'datasource: NoCloud\n',
      MODE: '0600',
      DIRMODE: '0700',
    });
    expect(env(definition, 'kernel-upgrade')).toEqual({
      LVM_SIZE: '0',
      KERNEL_VERSION: '',
      SKIP_KERNEL_UPGRADE: 'false',
    });
  });

  test('the installer is a service that starts with the system, until it has said that it is done', () => {
    const definition = workflow('ubuntu');
    const installer = env(definition, 'profile-pkg-and-node-agents-install-script-download');
    const service = env(definition, 'service-script-for-profile-pkg-and-node-agents-install');
    const unit = '/etc/systemd/system/install-profile-pkgs-and-node-agent.service';
    expect(service).toMatchObject({ DEST_PATH: unit, MODE: '0644' });
    expect(service['CONTENTS']?.split('\n')).toEqual(
      expect.arrayContaining([
        `ExecStart=${installer['DEST_PATH']}`,
        'After=network-online.target',
        'ConditionPathExists=!/home/postinstall/Setup/.base_pkg_install_done',
        'Restart=always',
        'WantedBy=multi-user.target',
      ]),
    );
    // a profile without a script of its own has nothing to install
    const doneFile = '/home/postinstall/Setup/.base_pkg_install_done';
    expect(installer['CONTENTS']).toBe(installAgentsScript([], doneFile));
    const packages = ['node-agent=1.5.0', 'caddy'];
    expect(
      env(
        workflow('ubuntu', { agents: { packages } }),
        'profile-pkg-and-node-agents-install-script-download',
      ),
    ).toMatchObject({ CONTENTS: installAgentsScript(packages, doneFile) });
    expect(env(definition, 'system-configuration')).toMatchObject({
      CHROOT: 'y',
      CMD_LINE: expect.stringContaining(`systemctl enable ${basename(unit)};`),
    });
  });

  test('cloud-init hands the agents their credentials, their tenant and the CA', () => {
    const text = env(workflow('ubuntu'), 'install-cloud-init')['CONTENTS'] ?? '';
    expect(agentFiles(text)).toEqual({
      agent_variables: {
        permissions: '0644',
        content: expect.stringContaining('KEYCLOAK_FQDN=10.0.2.2:8443\n'),
      },
      'orch-ca-cert/orch-ca.crt': { permissions: '0644', content: CA },
      tenantId: { permissions: '0644', content: 'TENANT_ID=p1\n' },
      'client-credentials/client_id': { permissions: '0600', content: 'edgenode-u1' },
      'client-credentials/client_secret': { permissions: '0600', content: 's3cret' },
    });
    const { ca_certs: trusted } = parse(text) as { ca_certs?: unknown };
    expect(trusted).toEqual({ trusted: [CA] });
  });

  test('the agents find every service at this server, until the site or the profile says otherwise', () => {
    const variables = (profile: object, settings: object) => {
      const text =
        env(workflow('ubuntu', { ...profile }, { ...settings }), 'install-cloud-init')['CONTENTS'] ?? '';
      const { content = '' } = agentFiles(text)['agent_variables'] as { content?: string };
      return Object.fromEntries(
        content
          .trim()
          .split('\n')
          .map((line) => line.split('=')),
      );
    };
    expect(variables({}, { publicUrl: 'https://site.example' })).toMatchObject({
      NODE_ONBOARDING_URL: 'site.example:443',
      OBSERVABILITY_LOGGING_URL: 'site.example',
      OBSERVABILITY_LOGGING_PORT: '443',
      RS_TYPE: 'no-auth',
    });
    const site = { agentVariables: { CLUSTER_ORCH_URL: 'cluster.example:443', RS_TYPE: 'auth' } };
    const profile = { agents: { variables: { RS_TYPE: 'mine', EXTRA: '1' } } };
    expect(variables(profile, site)).toMatchObject({
      CLUSTER_ORCH_URL: 'cluster.example:443',
      RS_TYPE: 'mine',
      EXTRA: '1',
    });
  });

  test('versions of the agents go into the file that EMF’s installer reads', () => {
    const agents = { versions: { NODE_AGENT_VERSION: '1.5.0' } };
    const files = (osType: string) =>
      agentFiles(env(workflow('ubuntu', { agents, osType }), 'install-cloud-init')['CONTENTS'] ?? '');
    expect(files('MUTABLE')).toMatchObject({
      agent_versions: { permissions: '0644', content: 'NODE_AGENT_VERSION=1.5.0\n' },
    });
    expect(files('IMMUTABLE')).not.toHaveProperty('agent_versions');
  });

  test('cloud-init names the node, trusts the site and knows where to report', () => {
    const text = env(workflow('ubuntu'), 'install-cloud-init')['CONTENTS'] ?? '';
    expect(text.startsWith('#cloud-config\n')).toBe(true);
    expect(text).toContain('hostname: host-1a2b3c4d');
    expect(text).toContain('macaddress: "52:54:00:aa:bb:01"');
    expect(text).toContain("url='https://10.0.2.2:8443/api/v1/first-boot/k1'");
    expect(text).toContain('    - |\n      -----BEGIN CERTIFICATE-----\n      AAAA');
  });

  test('cloud-init accepts it, with the first-boot script as a shell reads it', () => {
    const text = env(workflow('ubuntu'), 'install-cloud-init')['CONTENTS'] ?? '';
    // EMF's key, which cloud-init passes over.
    expect(checkUserData(text)).toEqual(['line 3: cloud-init knows no "network"']);
    const { write_files: files } = parse(text) as { write_files: { path: string; content: string }[] };
    const url = 'https://10.0.2.2:8443/api/v1/first-boot/k1';
    expect(files.find((file) => file.path === '/opt/kindling/first-boot.sh')?.content).toBe(
      firstBootScript({
        url,
        ca: '/opt/kindling/site-ca.crt',
        retrySeconds: 10,
        commitsBootOrder: true,
        bootOrderUrl: `${url}/boot-order`,
      }),
    );
  });

  test('environments are sorted as Go sorts them', () => {
    const entries = workflow('ubuntu').actions[2]?.environment ?? [];
    expect(entries).toEqual(entries.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });
});

test('an ISO is written as it is: nothing is placed in it, and its disk leads the boot order at once', () => {
  const definition = workflow('iso', { imageFormat: 'iso', imageUrl: 'https://images.test/os.iso' });
  expect(steps(definition)).toEqual([
    ['secure-boot-status-flag-read', 560],
    ['erase-non-removable-disk', 560],
    ['stream-os-image', 9800],
    ['efibootset-for-diskboot', 560],
    ['reboot', 90],
  ]);
  expect(definition.actions[2]).toMatchObject({
    image: 'localhost:7443/edge-orch/infra/tinker-actions/iso2disk:1.21.1',
  });
  expect(env(definition, 'stream-os-image')).toMatchObject({ IMG_URL: 'https://images.test/os.iso' });
  expect(env(definition, 'efibootset-for-diskboot')).toEqual({ BOOT_POLICY: 'disk-first' });
});

describe.each([
  { template: 'microvisor', osType: 'IMMUTABLE' },
  { template: 'ubuntu', osType: 'MUTABLE' },
])('a standalone node with an $osType system', ({ template, osType }) => {
  const cloudInit = (profile: object, settings = {}) =>
    env(workflow(template, { osType, ...profile }, settings), 'install-cloud-init')['CONTENTS'] ?? '';
  const KINDS = [{ standalone: true }, { metadata: { 'standalone-node': 'true' } }];

  test.each(KINDS)('has nothing of the site on it: %j', (standalone) => {
    expect(Object.keys(agentFiles(cloudInit({})))).toHaveLength(5);
    const text = cloudInit(standalone);
    // Whatever it is that would call the site needs the address of the site, its CA or a secret.
    for (const trace of ['10.0.2.2', 's3cret', 'edgenode-u1', 'first-boot', 'CERTIFICATE', 'host-1a2b3c4d'])
      expect(text).not.toContain(trace);
    expect(Object.keys(parse(text) as object)).toEqual(['merge_how', 'network']);
    expect(checkUserData(text)).toEqual(['line 3: cloud-init knows no "network"']);
  });

  test('keeps what its owner needs: proxies, clocks, an account', () => {
    const text = cloudInit(
      { standalone: true, localAccount: { user: 'anna', sshKey: 'ssh-ed25519 AAAA' } },
      { httpProxy: 'http://proxy:911', ntpServers: ['ntp.example'] },
    );
    expect(Object.keys(parse(text) as object)).toEqual(['merge_how', 'network', 'users', 'ntp', 'runcmd']);
  });

  test('boots from its disk at once, since no report of it would ever put the disk first', () => {
    const policy = (profile: object) =>
      env(workflow(template, { osType, ...profile }), 'efibootset-for-diskboot')['BOOT_POLICY'];
    expect(policy({})).toBe('after-report');
    for (const standalone of KINDS) expect(policy(standalone)).toBe('disk-first');
  });

  test('is switched off, stays, or starts its disk in the end', () => {
    const last = (after: string) => workflow(template, { osType, standalone: true, after }).actions.at(-1);
    expect(last('reboot')).toMatchObject({ name: 'reboot', environment: [] });
    expect(last('poweroff')).toMatchObject({ name: 'reboot', environment: ['AFTER=poweroff'] });
    expect(last('stay')).toMatchObject({ name: 'efibootset-for-diskboot' });
  });
});

test.each(['ubuntu', 'microvisor'])(
  '%s names where neighbors are found, if the site has them',
  (template) => {
    expect(env(workflow(template), 'stream-os-image')).not.toHaveProperty('KINDLING_NEIGHBOURS_URL');
    expect(env(workflow(template, {}, { neighbours: true }), 'stream-os-image')).toMatchObject({
      KINDLING_NEIGHBOURS_URL: 'https://10.0.2.2:8443/api/v1/neighbours/neighbors',
    });
  },
);

test.each(['ubuntu', 'microvisor'])(
  '%s asks for consent where the site wants it, and only there',
  (template) => {
    const asking = workflow(template, {}, { requireConsent: 'non-empty' });
    for (const action of ['erase-non-removable-disk', 'stream-os-image']) {
      expect(env(asking, action)).toMatchObject({ KINDLING_REQUIRE_CONSENT: 'non-empty' });
      expect(env(workflow(template), action)).not.toHaveProperty('KINDLING_REQUIRE_CONSENT');
    }
  },
);
