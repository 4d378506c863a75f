import { once } from 'node:events';
import { expect, it } from 'vitest';
import { kill, leftovers, startGuarded } from '../../../lab/qemu/processes.ts';

it('a killed process is no leftover, even while something else holds its pipes open', async () => {
  const child = startGuarded('sh', ['-c', 'sleep 2 & echo ready; exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout) await once(child.stdout, 'data');
  expect(leftovers()).toEqual([expect.stringContaining('sleep infinity')]);
  await kill(child);
  expect(leftovers()).toEqual([]);
});
