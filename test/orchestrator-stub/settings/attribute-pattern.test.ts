import { expect, test } from 'vitest';
import { AttributeFields, parsePattern } from '../../../orchestrator-stub/settings/attribute-pattern.ts';

const matches = (pattern: string, event: unknown) =>
  new AttributeFields(event).matches(parsePattern(pattern));

const MACHINE = {
  product: { vendor: 'Dell Inc.', name: 'PowerEdge R650', serialNumber: 'ABC*1' },
  cpu: { totalCores: 8, processors: [{ model: 'Xeon', capabilities: ['vmx', 'sse'] }] },
  blockDevices: [
    { name: 'sda', driveType: 'HDD', size: '1TB' },
    { name: 'nvme0n1', driveType: 'SSD', size: '477GB' },
  ],
  networkInterfaces: [{ name: 'eno1', mac: '52:54:00:12:34:56' }, { name: 'lo' }],
  pciDevices: [],
  chassis: { serial: null },
};

// What Quamina's page on its patterns and its tests say; the library itself cannot be had from the Go module proxy.
test.each([
  ['an exact text', '{"product":{"vendor":["Dell Inc."]}}', true],
  ['one of several', '{"product":{"vendor":["HPE","Dell Inc."]}}', true],
  ['another text', '{"product":{"vendor":["HPE"]}}', false],
  ['a part of the text', '{"product":{"vendor":["Dell"]}}', false],
  ['another case', '{"product":{"vendor":["dell inc."]}}', false],
  ['two fields, both', '{"product":{"vendor":["Dell Inc."],"name":["PowerEdge R650"]}}', true],
  ['two fields, one', '{"product":{"vendor":["Dell Inc."],"name":["R750"]}}', false],
  ['no such field', '{"product":{"color":["red"]}}', false],
  ['a number', '{"cpu":{"totalCores":[8]}}', true],
  ['a number written otherwise', '{"cpu":{"totalCores":[8.0]}}', true],
  ['a number written with an exponent', '{"cpu":{"totalCores":[0.8e1]}}', true],
  ['a text for a number', '{"cpu":{"totalCores":["8"]}}', false],
  ['null', '{"chassis":{"serial":[null]}}', true],
  ['an entry of a list', '{"blockDevices":{"driveType":["SSD"]}}', true],
  ['two fields of one entry', '{"blockDevices":{"driveType":["SSD"],"name":["nvme0n1"]}}', true],
  ['two fields of two entries', '{"blockDevices":{"driveType":["SSD"],"name":["sda"]}}', false],
  ['fields of two lists', '{"blockDevices":{"name":["sda"]},"networkInterfaces":{"name":["lo"]}}', true],
  ['a list in a list', '{"cpu":{"processors":{"capabilities":["sse"],"model":["Xeon"]}}}', true],
  ['prefix', '{"product":{"vendor":[{"prefix":"Dell"}]}}', true],
  ['prefix, not', '{"product":{"vendor":[{"prefix":"ell"}]}}', false],
  ['prefix of nothing', '{"product":{"vendor":[{"prefix":""}]}}', true],
  ['prefix of a number', '{"cpu":{"totalCores":[{"prefix":"8"}]}}', false],
  ['suffix', '{"product":{"name":[{"suffix":"650"}]}}', true],
  ['suffix, not', '{"product":{"name":[{"suffix":"65"}]}}', false],
  ['equals-ignore-case', '{"product":{"vendor":[{"equals-ignore-case":"dELL iNC."}]}}', true],
  ['equals-ignore-case, not', '{"product":{"vendor":[{"equals-ignore-case":"dell"}]}}', false],
  ['shellstyle', '{"product":{"name":[{"shellstyle":"Power*R*50"}]}}', true],
  ['shellstyle, star for nothing', '{"product":{"vendor":[{"shellstyle":"*Dell Inc.*"}]}}', true],
  ['shellstyle, not', '{"product":{"name":[{"shellstyle":"Power*R7*"}]}}', false],
  ['shellstyle, the end comes twice', '{"product":{"name":[{"shellstyle":"PowerEdge R650*0"}]}}', false],
  ['wildcard', '{"networkInterfaces":{"mac":[{"wildcard":"52:54:*"}]}}', true],
  ['wildcard, an escaped star', '{"product":{"serialNumber":[{"wildcard":"ABC\\\\*1"}]}}', true],
  ['wildcard, an escaped star is a star', '{"product":{"vendor":[{"wildcard":"Dell\\\\*"}]}}', false],
  ['wildcard without a star', '{"product":{"vendor":[{"wildcard":"Dell Inc."}]}}', true],
  ['anything-but', '{"product":{"vendor":[{"anything-but":["HPE","Acme"]}]}}', true],
  ['anything-but, not', '{"product":{"vendor":[{"anything-but":["HPE","Dell Inc."]}]}}', false],
  ['anything-but in a list', '{"networkInterfaces":{"name":[{"anything-but":["lo"]}]}}', true],
  ['anything-but of what is absent', '{"product":{"color":[{"anything-but":["red"]}]}}', false],
  ['exists', '{"product":{"vendor":[{"exists":true}]}}', true],
  ['exists, not', '{"product":{"color":[{"exists":true}]}}', false],
  ['exists false', '{"product":{"color":[{"exists":false}]}}', true],
  ['exists false, not', '{"product":{"vendor":[{"exists":false}]}}', false],
  ['exists is for leaves', '{"product":[{"exists":true}]}', false],
  ['an empty list has no leaf', '{"pciDevices":[{"exists":true}]}', false],
  ['an empty list is absent', '{"pciDevices":[{"exists":false}]}', true],
  ['numeric', '{"cpu":{"totalCores":[{"numeric":[">=",8,"<",16]}]}}', true],
  ['numeric, not', '{"cpu":{"totalCores":[{"numeric":[">",8]}]}}', false],
  ['numeric of a text', '{"product":{"vendor":[{"numeric":[">",0]}]}}', false],
  ['kinds mixed', '{"product":{"vendor":["HPE",{"prefix":"Dell"}]}}', true],
  ['no values at all', '{"product":{"vendor":[]}}', false],
  ['no fields at all', '{}', false],
  ['what every object has', '{"constructor":{"name":["Object"]}}', false],
  ['beyond a leaf', '{"product":{"vendor":{"length":[9]}}}', false],
])('%s: %s → %s', (_case, pattern, expected) => {
  expect(matches(pattern, MACHINE)).toBe(expected);
});

test.each([
  ['', 'it is not JSON'],
  ['[]', 'it is not a JSON object'],
  ['{"a":1}', 'a must be a list of values'],
  ['{"a":{"b":"x"}}', 'a.b must be a list of values'],
  ['{"a":[["x"]]}', 'a list in a list'],
  ['{"a":[{"exists":true},"x"]}', 'exists cannot be combined'],
  ['{"a":[{"anything-but":["x"]},{"prefix":"y"}]}', 'anything-but cannot be combined'],
  ['{"a":[{"exists":"yes"}]}', 'exists must be true or false'],
  ['{"a":[{"anything-but":[]}]}', 'anything-but must be a list of texts'],
  ['{"a":[{"anything-but":[1]}]}', 'anything-but must be a list of texts'],
  ['{"a":[{"prefix":1}]}', 'prefix must be a text'],
  ['{"a":[{"shellstyle":"a**b"}]}', 'adjacent stars'],
  ['{"a":[{"wildcard":"a**b"}]}', 'adjacent stars'],
  ['{"a":[{"wildcard":"a\\\\b"}]}', 'a backslash stands before'],
  ['{"a":[{"wildcard":"a\\\\"}]}', 'a backslash stands before'],
  ['{"a":[{"numeric":["~",1]}]}', 'numeric is a list like'],
  ['{"a":[{"numeric":[]}]}', 'numeric is a list like'],
  ['{"a":[{"regexp":"x"}]}', 'there is no type of pattern "regexp"'],
  ['{"a":[{}]}', 'there is no type of pattern ""'],
])('the pattern %s is refused', (pattern, why) => {
  expect(() => parsePattern(pattern)).toThrow(
    expect.objectContaining({ code: 'KND_RULE_INVALID', message: expect.stringContaining(why) }),
  );
});

test('a machine with many devices does not make a pattern slow', () => {
  const many = (key: string) => Array.from({ length: 3000 }, (_, at) => ({ name: `${key}${at}`, kind: 'x' }));
  const event = { blockDevices: many('sd'), networkInterfaces: many('eth') };
  const pattern =
    '{"blockDevices":{"kind":["x"]},"networkInterfaces":{"kind":["x"],"name":["eth2999"],"speed":[{"exists":true}]}}';
  expect(matches(pattern, event)).toBe(false);
});
