import { expect, test } from 'vitest';
import { actionVariables } from '../../../agent/boot/action-mode.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

test('variables come plain or, when they hold what a command line cannot, in base64url', () => {
  const text = 'two words and a "quote"';
  const line = `quiet kindling.set.DEST_DISK=/dev/vda kindling.set.CONTENTS=base64url:${Buffer.from(text).toString('base64url')} kindling.set.EMPTY=`;
  expect(actionVariables(parseKernelArguments(line))).toEqual({
    DEST_DISK: '/dev/vda',
    CONTENTS: text,
    EMPTY: '',
  });
});
