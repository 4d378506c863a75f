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
    'an invalid image',
    GOOD.replace('quay.io/tinkerbell/actions/image2disk:latest', 'Quay io'),
    11,
    'invalid image',
  ],
  ['a timeout that is no number', GOOD.replace('600', 'soon'), 12, 'whole number of seconds'],
  ['a timeout in quotes', GOOD.replace('600', '"600"'), 12, 'whole number of seconds'],
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
  ['invalid YAML', 'tasks: [\n', 2, ''],
])('%s is refused with its line', (_what, text, line, message) => {
  const found = faults(text);
  expect(found).toContainEqual({ line, message: expect.stringContaining(message) });
});

test('every fault is listed at once', () => {
  const text = GOOD.replace('600', 'soon')
    .replace('name: reboot', 'name: stream')
    .replace('MODE: 0600', 'MODE: [0600]');
  expect(faults(text)).toHaveLength(3);
});

const template = (action: string, top = '') => `${top}
name: t
tasks:
  - name: t
    worker: w
    actions:
      - name: a
        image: example.org/a:1
${action.replaceAll(/^/gm, '        ')}
`;
const readAction = (action: string, top?: string) =>
  parseWorkflowTemplate(template(action, top), 't').tasks[0]?.actions[0];

test.each([
  ['timeout: 010', 8],
  ['timeout: 1_000', 1000],
  ['timeout: 0x10', 16],
  ['timeout: 0o17', 15],
  ['timeout: 0b11', 3],
  ['timeout: 1e3', 1000],
  ['timeout: 1.9', 1],
  ['timeout: +5', 5],
  ['timeout: ~', 0],
  ['timeout:', 0],
])('%s is %d seconds', (action, seconds) => {
  expect(readAction(action)?.timeout).toBe(seconds);
});

test('scalars of YAML 1.1 stay as they are written where a text is wanted', () => {
  const environment =
    'environment: {A: yes, B: 010, C: 1_000, D: ~, E: null, F: 2001-01-01, G: "~", H: 0x1F}';
  expect(readAction(environment)?.environment).toEqual({
    A: 'yes',
    B: '010',
    C: '1_000',
    D: '',
    E: '',
    F: '2001-01-01',
    G: '~',
    H: '0x1F',
  });
});

test('anchors, aliases, merge keys and !!binary', () => {
  const top = 'x-env: &env {A: one, B: two}\nx-more: &more {B: other, C: three}\nx-name: &name hello';
  expect(readAction('environment:\n  <<: [*env, *more]\n  A: mine\n  D: *name', top)?.environment).toEqual({
    A: 'mine',
    B: 'two',
    C: 'three',
    D: 'hello',
  });
  expect(readAction('environment: {A: !!binary aGVsbG8=}')?.environment).toEqual({ A: 'hello' });
  expect(faults(template('environment: {A: !!binary "a"}'))[0]?.message).toContain('invalid base64');
  expect(faults(template('environment: &e {A: *e}'))[0]?.message).toContain('contains itself');
  expect(faults(template('environment: {<<: 7}'))[0]?.message).toContain('map merge requires');
});

test('a quoted text may go on as deep as its key', () => {
  expect(
    readAction('environment:\n  A: "one\n  two \\"x\\"\n\n  three"\n  B: \'four\n  five\'\n  C: 6')
      ?.environment,
  ).toEqual({ A: 'one two "x"\nthree', B: 'four five', C: '6' });
  expect(faults(template('environment:\n  A: "one\n  two\n'))).not.toEqual([]);
});

test('a few lines of aliases do not fill the memory', () => {
  const bomb = Array.from({ length: 9 }, (_, at) => `x${at + 1}: &x${at + 1} [${`*x${at},`.repeat(9)}]`);
  expect(faults(`x0: &x0 [a]\n${bomb.join('\n')}\n`)[0]?.message).toContain('excessive aliasing');
});

test('only the first document counts, and a registry may be an IPv6 address', () => {
  expect(parseWorkflowTemplate(`${GOOD}---\nname: other\n`, 't').name).toBe('debian');
  expect(faults(GOOD.replace(/image: localhost:7443.*/, 'image: "[2001:db8::1]:5000/a:1"'))).toEqual([]);
});

test('a key that no template has is a warning, and with the rules of tink 0.12 a fault', () => {
  const text = GOOD.replace('timeout: 600', 'time_out: 600');
  expect(parseWorkflowTemplate(text, 't').warnings).toEqual([
    'line 12: an action has no key "time_out"; Tinkerbell 0.25 overlooks it, tink up to 0.10 refuses it',
  ]);
  expect(() => parseWorkflowTemplate(text, 't', 'tink-0.10')).toThrow('has no key "time_out"');
  expect(parseWorkflowTemplate(GOOD.replace('name: debian\n', ''), 't').warnings).toEqual([
    'it has no name; Tinkerbell refuses that',
  ]);
  expect(parseWorkflowTemplate(`${GOOD}#${'x'.repeat(300_000)}`, 't').warnings).toHaveLength(1);
  expect(parseWorkflowTemplate(GOOD, 't').warnings).toEqual([]);
});
