import { expect, test } from 'vitest';
import { formatIssue } from '../../../standalone/config/issue.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';

const found = (...lines: string[]) =>
  validateConfig(`${lines.join('\n')}\n`).issues.map((issue) => formatIssue('n', issue));

test.each([
  [
    'one blank too many',
    ['version: 1.0', 'operatingSystem:', '  hostname: edge', '   users:', '    - username: edge'],
    'n:4:4: error CFG001 not valid YAML: “users” is indented by 3 blanks, “hostname” above it by 2; give both the same',
  ],
  [
    'one blank too few',
    ['operatingSystem:', '  users:', '    - username: edge', '     password: x'],
    'n:4:6: error CFG001 not valid YAML: “password” is indented by 5 blanks, “username” above it by 6; give both the same',
  ],
  [
    'a blank before the first line',
    [' version: 1.0', 'operatingSystem:', '  hostname: edge'],
    'n:2:1: error CFG001 not valid YAML: “operatingSystem” is indented by 0 blanks, “version” above it by 1; give both the same',
  ],
  [
    'a tab',
    ['version: 1.0', 'operatingSystem:', '  hostname: a', '\tusers: []'],
    'n:4:1: error CFG001 not valid YAML: this line is indented by a tab; use blanks',
  ],
  [
    'a quote that is not closed',
    ['version: 1.0', "disk: {bus: 'nvme}", 'image:'],
    "n:2:13: error CFG001 not valid YAML: the quote ' that begins here has no end",
  ],
  [
    'a bracket that is not closed',
    ['version: 1.0', 'disk: {bus: nvme', 'image:'],
    'n:2:7: error CFG001 not valid YAML: the bracket { that begins here has no end',
  ],
  [
    'a colon inside a value',
    ['operatingSystem:', '  hostname: a: b'],
    'n:2:13: error CFG001 not valid YAML: this value holds a colon with a blank behind it; put it in quotes',
  ],
  [
    'a key without its colon',
    ['operatingSystem:', '  hostname edge', '  users: []'],
    'n:2:3: error CFG001 not valid YAML: “hostname edge” is neither a key (with “:” and a blank behind it) nor the end of the value above',
  ],
  [
    'a reserved character',
    ['operatingSystem:', '  hostname: @edge'],
    'n:2:13: error CFG001 not valid YAML: a value cannot begin with “@”; put it in quotes',
  ],
])('%s is the only finding, in plain words, at its line', (_, lines, finding) => {
  expect(found(...lines)).toEqual([finding]);
});

test('the text of a block is not taken for keys', () => {
  const text = ['a:', '  content: |', '    x: 1', '      y: 2', '  hostname: edge', '   users:'];
  expect(found(...text)).toEqual([expect.stringContaining('n:6:4: ')]);
});

test('a key that is there twice is named, and the rest of the file is still checked', () => {
  expect(found('version: 1.0', 'version: 1.0')).toEqual([
    expect.stringContaining('OS101'),
    'n:2:1: error CFG001 not valid YAML: the key “version” is there twice',
  ]);
});

test.each([
  ['users: []', 'users', '; it belongs below operatingSystem'],
  [
    'operatingSystem: {password: x}',
    'operatingSystem.password',
    '; it belongs below operatingSystem.users[]',
  ],
  [
    'operatingSystem: {users: [{hostname: x}]}',
    'operatingSystem.users[0].hostname',
    '; it belongs below operatingSystem',
  ],
  ['disk: {image: x}', 'disk.image', '; it belongs to the top of the file'],
  [
    'image: {path: x}',
    'image.path',
    '; known here: file, url, sha256, profile, protection, k3sVersion, artifacts',
  ],
])('%s: the unknown key is told where it belongs', (text, path, belongs) => {
  const issue = validateConfig(text).issues.find(({ code }) => code === 'CFG002');
  expect(issue?.path).toBe(path);
  expect(issue?.message).toBe(`unknown key "${path.replace(/.*\./, '')}"${belongs}`);
});
