import { expect, test } from 'vitest';
import { judgeNodeKey } from '../../../orchestrator-stub/nodes/node-key.ts';

test.for([
  // pinned, shown, the pinned one is there, one key only
  [undefined, undefined, false, false, 'first'],
  [undefined, 'A', true, true, 'first'],
  ['A', 'A', true, true, 'same'],
  ['A', 'B', false, false, 'changed'],
  ['A', 'B', true, false, 'refused'],
  ['A', 'B', false, true, 'refused'],
  ['A', undefined, false, false, 'refused'],
] as const)(
  'pinned %s, shown %s, heard %s, one key only %s: %s',
  ([pinned, shown, isHeard, isOneKeyOnly, verdict]) => {
    expect(judgeNodeKey({ pinned, shown, isHeard, isOneKeyOnly })).toBe(verdict);
  },
);
