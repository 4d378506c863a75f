import { expect, test } from 'vitest';
import { type OtlpNode, toOtlpRequest } from '../../../agent/report/otlp.ts';
import { toHostId, toNodeId } from '../../../protocol/ids.ts';

const attributesFor = (node: OtlpNode) => toOtlpRequest([], { hostGuid: 'guid', node, stream: 's' });

test('our server gets the host id it gave, another collector the id the agent computed, under names of their own', () => {
  const node = (key: string, stringValue: string) => ({
    resourceLogs: [{ resource: { attributes: expect.arrayContaining([{ key, value: { stringValue } }]) } }],
  });
  expect(attributesFor({ hostId: toHostId('host-1a2b3c4d') })).toMatchObject(
    node('kindling.node', 'host-1a2b3c4d'),
  );
  const elsewhere = attributesFor({ nodeId: toNodeId('4c4c4544') });
  expect(elsewhere).toMatchObject(node('kindling.identity', '4c4c4544'));
  expect(JSON.stringify(elsewhere)).not.toContain('kindling.node');
});
