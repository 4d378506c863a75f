import { describe, expect, it } from 'vitest';
import {
  checkMetaData,
  checkNetworkConfig,
  checkUserData,
} from '../../../actions/cloud-init/check-user-data.ts';

const config = (text: string) => checkUserData(`#cloud-config\n${text}`);

describe('user data', () => {
  it.each([
    '#cloud-config\nhostname: a\nusers:\n  - default\n  - name: b\nruncmd:\n  - echo a\n  - [echo, b]\nwrite_files:\n  - path: /a\n    permissions: "0644"\n    content: x\n',
    '#cloud-config\n',
    '## template: jinja\n#cloud-config\nhostname: {{ x }}\n',
    '#!/bin/sh\necho\n',
    'Content-Type: multipart/mixed; boundary="x"\n',
  ])('%j is good', (text) => {
    expect(checkUserData(text)).toEqual([]);
  });

  it.each([
    ['hostname: a\n', 'no header'],
    ['', 'no header'],
  ])('%j: %s', (text, problem) => {
    expect(checkUserData(text)).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ['a: [b', 'line 2'],
    ['- a\n', 'not a mapping'],
    ['services: x\n', 'line 2: cloud-init knows no "services"'],
    ['hostname: a\nkubernetes: {}\n', 'line 3: cloud-init knows no "kubernetes"'],
    ['runcmd: []\n', 'must not be an empty list'],
    ['runcmd: echo\n', 'must be a list'],
    ['runcmd:\n  - {a: b}\n', 'text or a list of words'],
    ['write_files:\n  - content: x\n', 'needs a path'],
    ['write_files:\n  - path: /a\n    permissions: 0644\n', 'line 4: permissions must be in quotes'],
    ['write_files:\n  - path: /a\n    contentFrom: x\n', 'knows no "contentFrom"'],
    ['users:\n  - {sudo: x}\n', 'a user needs a name'],
  ])('a cloud-config with %j: %s', (text, problem) => {
    expect(config(text)).toEqual([expect.stringContaining(problem)]);
  });
});

it('network configuration needs a version', () => {
  expect(checkNetworkConfig('version: 2\nethernets: {}\n')).toEqual([]);
  expect(checkNetworkConfig('network: {version: 1, config: []}\n')).toEqual([]);
  expect(checkNetworkConfig('ethernets: {}\n')).toHaveLength(1);
  expect(checkNetworkConfig('a: [')).not.toEqual([]);
});

it('meta-data is a mapping', () => {
  expect(checkMetaData('instance-id: a\n')).toEqual([]);
  expect(checkMetaData('- a\n')).toHaveLength(1);
});
