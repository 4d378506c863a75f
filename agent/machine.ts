import type { Machine } from '../actions/action.ts';

/** The machine as the actions see it. */
export const machine: Machine = {
  listDisks: async () => [],
  secureBoot: async () => 'unsupported',
};
