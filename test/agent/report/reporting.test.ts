import { expect, it } from 'vitest';
import { resolveConfig } from '../../../agent/config/resolve-config.ts';
import { Reporting } from '../../../agent/report/reporting.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

it('what is waited for is logged when it changes, and then ever more rarely', async () => {
  const lines: string[] = [];
  const shown: string[] = [];
  const { config } = resolveConfig({ flags: [], kernel: parseKernelArguments(''), env: [] });
  const reporting = new Reporting({
    config,
    onHumanLine: (line) => lines.push(line),
    onStatus: ({ text }) => shown.push(text),
  });
  const error = new KindlingError('KND_UNEXPECTED', 'refused');
  for (let tries = 1; tries <= 9; tries += 1) reporting.waiting({ name: 'the server', error, tries });
  expect(lines.filter((line) => line.includes('waiting for the server: refused'))).toHaveLength(4); // 1, 2, 4, 8
  expect(shown).toHaveLength(9);
  reporting.waiting({ name: 'another', tries: 3 });
  reporting.waiting({ name: 'another', tries: 3 });
  expect(lines.filter((line) => line.includes('waiting for another'))).toHaveLength(1);
  await reporting.end();
});
