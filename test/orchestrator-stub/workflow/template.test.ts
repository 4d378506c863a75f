import { expect, test } from 'vitest';
import { parseWorkflowTemplate } from '../../../orchestrator-stub/workflow/template.ts';
import { KindlingError } from '../../../protocol/error.ts';

const GOOD = `version: "0.1"
name: debian
global_timeout: 1800
tasks:
  - name: install
    worker: "52:54:00:12:34:56"
    volumes: [/dev:/dev]
    environment: {A: 1}
    actions:
      - name: stream
        image: quay.io/tinkerbell/actions/image2disk:latest
        timeout: 600
        environment:
          MODE: 0600
          COMPRESSED: true
          EMPTY:
          CONTENTS: |
            two
            lines
      - name: reboot
        image: localhost:7443/a/reboot@sha256:${'0'.repeat(64)}
        namespaces: {network: host, pid: host}
`;

function faults(text: string): { line: number; message: string }[] {
  try {
    parseWorkflowTemplate(text, 't');
  } catch (thrown) {
    if (thrown instanceof KindlingError) {
      expect(thrown.code).toBe('KND_TEMPLATE_INVALID');
      return thrown.evidence?.['errors'] as { line: number; message: string }[];
    }
    throw thrown;
  }
  return [];
}

test('a good template is read; scalars stay as they are written', () => {
  const template = parseWorkflowTemplate(GOOD, 't');
  expect(template).toMatchObject({ name: 'debian', globalTimeout: 1800 });
  const [stream, reboot] = template.tasks[0]?.actions ?? [];
  expect(stream?.environment).toEqual({
    MODE: '0600',
    COMPRESSED: 'true',
    EMPTY: '',
    CONTENTS: 'two\nlines\n',
  });
  expect(stream?.timeout).toBe(600);
  expect(reboot).toMatchObject({ pid: 'host', network: 'host', timeout: 0 });
});

test.each([
  ['a task without worker', GOOD.replace('worker: "52:54:00:12:34:56"', 'worker: ""'), 5, 'has no worker'],
  ['two actions of one name', GOOD.replace('name: reboot', 'name: stream'), 5, 'are called "stream"'],
  [
    'an image that is none',
    GOOD.replace('quay.io/tinkerbell/actions/image2disk:latest', 'Quay io'),
    11,
    'invalid image',
  ],
  ['a timeout that is no number', GOOD.replace('600', 'soon'), 12, 'whole number of seconds'],
  ['an unknown key', GOOD.replace('timeout: 600', 'time_out: 600'), 12, 'has no key "time_out"'],
  [
    'an environment that is a list',
    GOOD.replace('environment: {A: 1}', 'environment: [A]'),
    8,
    'mapping of names',
  ],
  ['a name that is too long', GOOD.replace('name: stream', `name: ${'x'.repeat(200)}`), 10, '1 to 199 bytes'],
  ['no tasks', 'version: "0.1"\ntasks: []\n', 1, 'at least one task'],
  ['no mapping at all', '- a\n- b\n', 1, 'is a mapping'],
  ['the same key twice', 'name: a\nname: b\ntasks: []\n', 2, 'unique'],
  ['YAML that is none', 'tasks: [\n', 2, ''],
])('%s is refused with its line', (_what, text, line, message) => {
  const found = faults(text);
  expect(found).toContainEqual({ line, message: expect.stringContaining(message) });
});

test('every fault is listed at once', () => {
  const text = GOOD.replace('600', 'soon')
    .replace('name: reboot', 'name: stream')
    .replace('global_timeout', 'globaltimeout');
  expect(faults(text)).toHaveLength(3);
});
