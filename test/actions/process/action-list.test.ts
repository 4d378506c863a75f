import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { CATALOG } from '../../../actions/catalog.ts';

it('kindling-agent action lists every action and succeeds', () => {
  const main = new URL('../../../agent/main.ts', import.meta.url).pathname;
  const { status, stdout } = spawnSync(process.execPath, [main, 'action'], { encoding: 'utf8' });
  expect(CATALOG.filter(({ name }) => !stdout.includes(name))).toEqual([]);
  expect(status).toBe(0);
});
