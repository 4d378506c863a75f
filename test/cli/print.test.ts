import { expect, test } from 'vitest';
import { formatNode } from '../../cli/node/print.ts';
import { nodeView } from '../../orchestrator-stub/http/api/node-view.ts';
import { newHost } from '../../orchestrator-stub/nodes/registration.ts';
import { toHostId } from '../../protocol/ids.ts';

const node = nodeView(newHost(toHostId('host-1'), 'project', new Date(0)), undefined, undefined);

test('a machine that only a Tinkerbell agent told about is shown with its attributes', () => {
  const shown = formatNode({
    ...node,
    attributes: { product: { vendor: 'Acme' }, block: [{ name: 'nvme0n1', size: '477GB' }] },
  });
  expect(shown).toMatch(/^product\.vendor +Acme$/m);
  expect(shown).toMatch(/^block\.0\.size +477GB$/m);
});

test('a machine whose inventory is known is shown with that', () => {
  const shown = formatNode({
    ...node,
    inventory: { memory: { totalBytes: 2 ** 34, modules: [] } },
    attributes: { product: { vendor: 'Acme' } },
  });
  expect(shown).toMatch(/^memory +16 GiB$/m);
  expect(shown).not.toContain('Acme');
});
