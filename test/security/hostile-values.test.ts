import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatLogLine } from '../../cli/node/print.ts';
import { formatFields, formatTable, printable } from '../../cli/table.ts';
import { createInstance } from '../../orchestrator-stub/nodes/instance.ts';
import { ProfileSchema } from '../../orchestrator-stub/nodes/profile.ts';
import { newHost } from '../../orchestrator-stub/nodes/registration.ts';
import { templateData } from '../../orchestrator-stub/provisioning/inputs.ts';
import { SiteSettingsSchema } from '../../orchestrator-stub/settings/site-settings.ts';
import { builtInTemplates } from '../../orchestrator-stub/workflow/built-in.ts';
import { defineWorkflow } from '../../orchestrator-stub/workflow/definition.ts';
import { KindlingError } from '../../protocol/error.ts';
import { toHostId } from '../../protocol/ids.ts';

/** What no value may be able to do anything with. */
const HOSTILE: Record<string, string> = {
  'single quote': `x';touch /pwned;'`,
  'double quote': `x";touch /pwned;"`,
  'line break': 'x\n      - name: pwn\n        image: evil/pwn:1',
  'carriage return': 'x\r\n  evil: 1',
  'command substitution': 'x$(touch /pwned)',
  backticks: 'x`touch /pwned`',
  'template braces': '{{ .DeviceInfoAuthClientSecret }}',
  'YAML mapping': 'x: {evil: 1}',
  'YAML comment': 'x # evil',
  'YAML anchor': '&a [*a]',
  'YAML tag': '!!binary eA==',
  'YAML document': '---\nname: evil',
  NUL: 'x\0y',
  'a megabyte': 'x'.repeat(1_000_000),
  'right to left': 'x\u202eexe.txt\u2066',
  'ANSI escape': '\x1b]0;owned\x07\x1b[2J\x1b[31mred',
  'C1 control': '\x9b2Jx',
  semicolon: 'x; rm -rf /',
  backslash: 'x\\',
};
const now = new Date('2026-11-18T08:00:00Z');
const KEYS = { firstBootKey: 'f'.repeat(32), escrowKey: 'e'.repeat(32), neighborsKey: 'n'.repeat(32) };

interface Values {
  serial?: string;
  reportedSerial?: string;
  reportedMac?: string;
  reportedIp?: string;
  uuid?: string;
  name?: string;
  metadata?: Record<string, string>;
}

/** A workflow of a built-in template with these values of a node. */
function render(template: { name: string; text: string }, osType: 'MUTABLE' | 'IMMUTABLE', values: Values) {
  const host = {
    ...newHost(toHostId('host-1'), 'project', now),
    uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
    reportedMac: '52:54:00:12:34:56',
    reportedIp: '10.0.2.15',
    ...values,
  };
  const profile = {
    ...ProfileSchema.parse({ name: 'edge', osType, imageUrl: 'http://10.0.2.2/x.raw.gz' }),
  };
  const data = templateData({
    host,
    instance: createInstance({ id: 'inst-1', host, profile: 'edge', keys: KEYS, now }),
    profile,
    settings: SiteSettingsSchema.parse({}),
    hasNeighbors: true,
    inventory: undefined,
    client: { clientId: 'edgenode-1', hostId: host.id, secret: 'the-secret-of-the-node' },
    isQcow2: false,
    ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    origin: 'https://10.0.2.2:8443',
  });
  return defineWorkflow({ id: 'w', hostId: host.id, generation: 1, template, data, now });
}

const FIELDS = ['serial', 'reportedSerial', 'reportedMac', 'reportedIp', 'uuid', 'name', 'metadata'] as const;
const TEMPLATES = builtInTemplates().flatMap(({ name, text }) =>
  (['MUTABLE', 'IMMUTABLE'] as const).map((osType) => ({ name, text, osType })),
);

describe.each(TEMPLATES)('the built-in template $name, $osType', ({ name, text, osType }) => {
  const shape = (values: Values) =>
    render({ name, text }, osType, values).actions.map((action) => ({
      ...action,
      id: '',
      taskId: '',
      workerId: '',
      environment: action.environment.map((each) => each.split('=')[0]),
    }));
  const honest = shape({});

  it.each(FIELDS)('a hostile %s stays a value, or makes no workflow at all', (field) => {
    for (const [what, value] of Object.entries(HOSTILE)) {
      try {
        const hostile = shape({ [field]: field === 'metadata' ? { [value]: value } : value });
        expect(hostile, what).toEqual(honest);
      } catch (thrown) {
        expect(thrown, what).toBeInstanceOf(KindlingError);
        expect(thrown, what).toMatchObject({ code: 'KND_TEMPLATE_INVALID' });
      }
    }
  });

  it('what it puts into cloud-init parses, and its scripts are scripts', () => {
    for (const action of render({ name, text }, osType, {}).actions) {
      for (const each of action.environment) {
        const contents = each.startsWith('CONTENTS=#cloud-config')
          ? each.slice('CONTENTS='.length)
          : undefined;
        if (contents === undefined) continue;
        const { write_files: files } = parse(contents) as {
          write_files: { path: string; content: string }[];
        };
        for (const { path, content } of files)
          if (path.endsWith('.sh')) execFileSync('sh', ['-n'], { input: content });
      }
    }
  });
});

describe('in a terminal', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

  it.each(Object.entries(HOSTILE))('%s comes as harmless text', (_what, value) => {
    expect(printable(value)).not.toMatch(CONTROLS);
    expect(printable(value)).not.toContain('\n');
    const line = { stream: value, sequence: 1, time: value, level: value, message: value };
    expect(formatLogLine({ ...line, fields: { workflow: value, action: value } })).not.toMatch(CONTROLS);
    expect(formatFields([['serial', value]])).not.toMatch(CONTROLS);
    const table = formatTable([{ serial: value }], [['SERIAL', ({ serial }) => serial]]);
    expect(table).not.toMatch(CONTROLS);
    expect(table.trim().split('\n')).toHaveLength(2);
  });
});
