import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { renderTemplate } from '../../../orchestrator-stub/workflow/go-template/render.ts';
import { ABSENT, functionsOf } from '../../../orchestrator-stub/workflow/go-template/tinkerbell-functions.ts';
import type { TemplateData } from '../../../orchestrator-stub/workflow/go-template/values.ts';
import { difference, type Recording } from '../../conformance/recording.ts';

const recorded = JSON.parse(
  readFileSync(new URL('./recorded-by-go.json', import.meta.url), 'utf8'),
) as Recording;

/** hermetic sprig 3.3 and Tinkerbell's own. */
const FUNCTIONS_OF_TINKERBELL = `
abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc
base bcrypt biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains
decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration durationRound
empty encryptAES ext fail first float64 floor formatPartition fromJson fromYaml genCA genCAWithKey
genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get has
hasKey hasPrefix hasSuffix hello htpasswd indent initial initials int int64 isAbs join kebabcase
keys kindIs kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend
mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial
mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll
mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse
mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify
netmaskToPrefixLength nindent nospace omit osBase osClean osDir osExt osIsAbs pick pluck plural
prepend push quote randInt regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set
sha1sum sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub subf
substr swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings
toYaml trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq
unixEpoch unset until untilStep untitle upper urlJoin urlParse values without wrap wrapWith
`
  .trim()
  .split(/\s+/);

const render = (text: string, data: TemplateData = {}, flavor: 'sprig' | 'tink-0.10' = 'sprig') =>
  renderTemplate(text, data, { name: 't', flavor });

/** What we do not do as Go does it, and why. */
const ON_PURPOSE = new Map([['{{ printf "%#x" 2.5 }}', 'nobody pads the digits of a hexadecimal float']]);

test('more than a thousand templates give what Go gave, word for word', { timeout: 120_000 }, () => {
  const compared = recorded.cases.filter(({ template }) => !ON_PURPOSE.has(template));
  expect(compared.length).toBeGreaterThan(1000);
  expect(compared.flatMap((each) => difference(each, recorded, { isExact: true }) ?? [])).toEqual([]);
});

test('every function of Tinkerbell 0.25 is there or absent for a reason', () => {
  const ours = functionsOf('sprig');
  const known = [...Object.keys(ours), ...ABSENT.keys()];
  expect(FUNCTIONS_OF_TINKERBELL).toHaveLength(198);
  expect(FUNCTIONS_OF_TINKERBELL.filter((name) => !known.includes(name))).toEqual([]);
  for (const name of ABSENT.keys()) {
    expect(() => render(`{{ ${name} }}`)).toThrow(`function "${name}" not defined`);
  }
});

test('a missing key names template, line, column and the piece', () => {
  expect(() => render('ok\n  image: {{ .Missing }}')).toThrow(
    'template: t:2:12: executing "t" at <.Missing>: map has no entry for key "Missing"',
  );
});

test('the flavor of tink 0.10 has Go’s argument order and no sprig', () => {
  expect(render('{{ contains .d "nvme" }}', { d: '/dev/nvme0n1' }, 'tink-0.10')).toBe('true');
  expect(render('{{ contains "nvme" .d }}', { d: '/dev/nvme0n1' })).toBe('true');
  expect(() => render('{{ .d | upper }}', { d: 'x' }, 'tink-0.10')).toThrow('function "upper" not defined');
});

test.each([
  ['/dev/sda', '/dev/sda1', '/dev/sda1'],
  ['/dev/vda', '/dev/vda1', '/dev/vda1'],
  ['/dev/nvme0n1', '/dev/nvme0n1p1', '/dev/nvme0n1p1'],
  ['/dev/mmcblk0', '/dev/mmcblk0p1', '/dev/mmcblk0'],
  ['/dev/disk/by-id/x', '/dev/disk/by-id/x-part1', '/dev/disk/by-id/x'],
])('formatPartition %s: %s today, %s in tink 0.10', (device, current, legacy) => {
  expect(render('{{ formatPartition .d 1 }}', { d: device })).toBe(current);
  expect(render('{{ formatPartition .d 1 }}', { d: device }, 'tink-0.10')).toBe(legacy);
});

test('netmaskToPrefixLength and YAML both ways', () => {
  expect(render('{{ netmaskToPrefixLength "255.255.240.0" }}')).toBe('20');
  expect(() => render('{{ netmaskToPrefixLength "x" }}')).toThrow('invalid netmask format');
  expect(render('{{ toYaml .m }}', { m: { b: [1, 2], a: 'x' } })).toBe('a: x\nb:\n- 1\n- 2');
  expect(render('{{ (fromYaml "a: {b: c}").a.b }}')).toBe('c');
});

test('a template cannot reach what is not in its data', () => {
  expect(() => render('{{ .constructor }}', {})).toThrow('map has no entry');
  expect(() => render('{{ .a.__proto__ }}', { a: {} })).toThrow('map has no entry');
  expect(render('{{ index .a "toString" }}', { a: {} })).toBe('<no value>');
  expect(render('{{ $d := dict "__proto__" "x" }}{{ get $d "__proto__" }}')).toBe('x');
  expect(() => render('{{ env "HOME" }}')).toThrow('function "env" not defined');
});

test('a map that contains itself is an error', () => {
  expect(() => render('{{ $d := dict }}{{ set $d "a" $d }}')).toThrow('too deep');
  expect(() => render('{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ toYaml $d }}')).toThrow('too deep');
});

test('a template cannot fill the memory', () => {
  expect(() => render('{{ repeat 900000000 "x" }}')).toThrow('too long');
  expect(() => render('{{ range until 900000 }}{{ repeat 100 "x" }}{{ end }}')).toThrow('larger than');
  expect(() => render('{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}')).toThrow(
    'maximum template depth',
  );
});

test('a variable is assigned with or without spaces', () => {
  expect(render('{{ $x := 1 }}{{ $x =2 }}{{ $x }}')).toBe('2');
});

test('the checksum of a long text is the one of zlib, which ends with it', () => {
  const text = 'z'.repeat(6000);
  const compressed = deflateSync(text);
  expect(render('{{ adler32sum .t }}', { t: text })).toBe(
    String(compressed.readUInt32BE(compressed.length - 4)),
  );
});

test('a day has 24 hours', () => {
  const epoch = (hour: number) =>
    render(`{{ mustToDate "2006-01-02 15:04" "2017-12-31 ${hour}:00" | unixEpoch }}`);
  expect(epoch(23)).toBe(String(Date.parse('2017-12-31T23:00:00Z') / 1000));
  expect(() => epoch(24)).toThrow('2017-12-31 24:00');
});

test('texts are bytes: what is no UTF-8 goes through base64 unharmed', () => {
  expect(render('{{ .b | b64dec | b64enc }} {{ .b | b64dec | len }}', { b: '//79AA==' })).toBe('//79AA== 4');
  expect(render('{{ len .t }} {{ substr 0 2 .t }} {{ upper .t }}', { t: 'é世' })).toBe('5 é É世');
});

test('a pattern takes linear time, whatever it is', () => {
  expect(render('{{ regexMatch "^(a+)+$" .t }}', { t: `${'a'.repeat(5000)}!` })).toBe('false');
});

test('keys can be made and texts encrypted, each time another', () => {
  expect(render('{{ genPrivateKey "ecdsa" }}')).toContain('BEGIN EC PRIVATE KEY');
  expect(render('{{ genPrivateKey "ed25519" }}')).toContain('BEGIN PRIVATE KEY');
  expect(render('{{ genPrivateKey "dsa2" }}')).toBe('Unknown type dsa2');
  expect(render('{{ "secret" | encryptAES "key" | decryptAES "key" }}')).toBe('secret');
  expect(() => render('{{ decryptAES "key" "aGk=" }}')).toThrow('not full blocks');
  expect(render('{{ shuffle "abc" | len }} {{ randInt 3 4 }} {{ ago (int64 0) }}')).toMatch(
    /^3 3 \d+h\d+m\d+s$/,
  );
  expect(render('{{ toDate "2006-01-02" "2017-12-31" | mustDateModify "24h" | unixEpoch }}')).toBe(
    '1514764800',
  );
});
