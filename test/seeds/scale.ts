/** How many times as much the seeded tests do: more than once in `npm run test:long`. */
export const SCALE = Number(process.env['KINDLING_TEST_SCALE'] ?? 1);

/** How many times as long a test may take: a long run does more, beside processes that take the cores. */
export const PATIENCE = SCALE === 1 ? 1 : SCALE * 10;
