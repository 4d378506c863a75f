import { expect, test } from 'vitest';
import { labelOf } from '../../../orchestrator-stub/record/label.ts';
import { labelsHtml } from '../../../orchestrator-stub/record/label-html.ts';
import { labelsZpl } from '../../../orchestrator-stub/record/label-zpl.ts';
import { recordsCsv } from '../../../orchestrator-stub/record/record-csv.ts';
import { EXAMPLE } from './example-record.ts';

const ORIGIN = 'https://10.0.0.1:8443';
const named = (name: string) => ({ ...EXAMPLE, node: { ...EXAMPLE.node, name } });

test('a label has the end of the serial number, the name, and the address of the page', () => {
  const { qr, ...label } = labelOf(EXAMPLE, ORIGIN);
  expect(label).toEqual({
    short: '4F7K2Q',
    name: 'till-1',
    lines: ['S/N SN-4F7K2Q', 'MAC 52:54:00:12:34:56', 'edge, generation 1', 'Done 2026-11-18 09:20 UTC'],
    url: 'https://10.0.0.1:8443/nodes/host-0123abcd',
  });
  expect(qr.side).toBeGreaterThan(25);
  expect(qr.path).toMatch(/^(M\d+ \d+h1v1h-1z)+$/);
});

test('the label of a machine that is not done says so', () => {
  const outcome = { verdict: 'failed' as const, status: 'Image not found', reason: null };
  expect(labelOf({ ...EXAMPLE, outcome }, ORIGIN).lines.at(-1)).toBe('NOT DONE: Image not found');
});

test('a hostile name stays a text in HTML', () => {
  const html = labelsHtml([labelOf(named('<script>alert(1)</script>"&'), ORIGIN)]);
  expect(html).toContain('&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#38;');
  expect(html).not.toContain('<script');
});

test('a hostile name is no command of a label printer', () => {
  const zpl = labelsZpl([labelOf(named('a^XZ~JR_5e\r\n'), ORIGIN)]);
  expect(zpl).toContain('^FDa_5eXZ_7eJR_5f5e_0d_0a^FS');
  expect(zpl.match(/\^XA/g)).toHaveLength(1);
  expect(zpl.match(/\^XZ/g)).toHaveLength(1);
  expect(zpl).toContain(`^FDMA,${ORIGIN}/nodes/host-0123abcd^FS`);
});

test('the table has one row per record, and no cell that a spreadsheet runs', () => {
  const [heading, first, second] = recordsCsv([named('=cmd|"x",1'), EXAMPLE]).split('\r\n');
  expect(heading).toMatch(/^Serial,UUID,MAC,Name,Place,/);
  expect(first).toContain(`,"'=cmd|""x"",1",`);
  expect(second).toBe(
    [
      'SN-4F7K2Q,,52:54:00:12:34:56,till-1,sw2/14,berlin,done,Running,,Acme,Box 3,N100,8589934592,D1,1000',
      `no certificate,1.2,on,${'e'.repeat(64)},edge,1,http://images.test/x.raw,${'a'.repeat(64)},`,
      `2026-11-18T09:20:00.000Z,61,1,anna,${'b'.repeat(64)},host-0123abcd`,
    ].join(','),
  );
});
