import { describe, expect, it } from 'vitest';
import { dialectOfReport } from '../../protocol/tink-dialect.ts';
import { bytes } from './bytes.ts';

describe('the dialect of a ReportActionStatus request', () => {
  it.each([
    ['legacy RUNNING', '0a 02 "wf"  12 01 "t"  1a 01 "a"  20 01', 'tink-legacy'],
    ['legacy PENDING with seconds', '0a 02 "wf"  12 01 "t"  1a 01 "a"  28 01', 'tink-legacy'],
    ['legacy with a message only', '0a 02 "wf"  32 02 "hi"', 'tink-legacy'],
    ['current RUNNING', '0a 02 "wf"  12 01 "w"  1a 01 "T"  22 01 "A"  2a 01 "n"  30 02', 'tink-current'],
    ['current with fields in another order', '30 02  0a 02 "wf"', 'tink-current'],
    ['too little to tell', '0a 02 "wf"  12 01 "t"', undefined],
    ['nothing', '', undefined],
    ['garbage', 'ff ff ff', undefined],
    ['cut off', '0a 20 "wf"', undefined],
  ])('row: %s', (_title, notation, dialect) => {
    expect(dialectOfReport(bytes(notation))).toBe(dialect);
  });
});
