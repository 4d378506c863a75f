import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderTemplate } from '../../../orchestrator-stub/workflow/go-template/render.ts';
import type { Value } from '../../../orchestrator-stub/workflow/go-template/values.ts';

const recorded = JSON.parse(readFileSync(new URL('./recorded-by-go.json', import.meta.url), 'utf8')) as {
  data: { [key: string]: Value };
  cases: { template: string; output?: string; error?: string }[];
};

const render = (text: string, data: Value = {}, flavor: 'sprig' | 'tink-0.10' = 'sprig') =>
  renderTemplate(text, data, { name: 't', flavor });

describe('does what Go did, word for word', () => {
  test.each(recorded.cases)('$template', ({ template, output = '', error }) => {
    if (error === undefined) expect(render(template, recorded.data)).toBe(output);
    else expect(() => render(template, recorded.data)).toThrow(error);
  });
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
  expect(() => render('{{ netmaskToPrefixLength "255.0.255.0" }}')).toThrow('invalid netmask');
  expect(render('{{ toYaml .m }}', { m: { b: [1, 2], a: 'x' } })).toBe('a: x\nb:\n  - 1\n  - 2');
  expect(render('{{ (fromYaml "a: {b: c}").a.b }}')).toBe('c');
});

test('a template cannot reach what is not in its data', () => {
  expect(() => render('{{ .constructor }}', {})).toThrow('map has no entry');
  expect(() => render('{{ .a.__proto__ }}', { a: {} })).toThrow('map has no entry');
  expect(render('{{ index .a "toString" }}', { a: {} })).toBe('<no value>');
  expect(render('{{ $d := dict "__proto__" "x" }}{{ get $d "__proto__" }}')).toBe('x');
  expect(() => render('{{ env "HOME" }}')).toThrow('function "env" not defined');
});

test('a template cannot fill the memory', () => {
  expect(() => render('{{ repeat 900000000 "x" }}')).toThrow('too long');
  expect(() => render('{{ range until 900000 }}{{ repeat 100 "x" }}{{ end }}')).toThrow('larger than');
  expect(() => render('{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}')).toThrow(
    'maximum template depth',
  );
});
