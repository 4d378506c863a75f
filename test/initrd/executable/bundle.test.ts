import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bundleAgent } from '../../../initrd/executable/bundle.ts';

test('the agent carries its worker threads and shell scripts, each under its path in the repository', async () => {
  const bundle = await bundleAgent();
  const script = 'system/first-boot/first-boot.sh';
  expect(bundle.get(script)).toBe(readFileSync(script, 'latin1'));
  expect(bundle.get('actions/erase/nvme-command.worker.ts')).toContain('parentPort');
});

test('the text of the agent is the same wherever the checkout and its packages lie', async () => {
  for (const [name, text] of await bundleAgent()) expect(text, name).not.toMatch(/"\.\.\/[^"]*node_modules/);
});
