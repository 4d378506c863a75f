import { expect, it } from 'vitest';
import { readFloorOptions } from '../../demo/floor.ts';

it('a floor has 200 machines unless another number is given', () => {
  expect(readFloorOptions({ floor: true })).toEqual({ nodes: 200, picture: undefined });
  expect(readFloorOptions({ nodes: '12', picture: 'page.png' })).toEqual({ nodes: 12, picture: 'page.png' });
});

it.each(['0', '2', '501', '1.5', 'many'])('%s machines are refused', (nodes) => {
  expect(() => readFloorOptions({ nodes })).toThrow('--nodes is a whole number from 3 to 500');
});
