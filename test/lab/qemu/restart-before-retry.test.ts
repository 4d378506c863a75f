import { describe, expect, it } from 'vitest';
import { restartBeforeRetry } from './restart-before-retry.ts';

describe('a test that fails at its first try', { retry: 1 }, () => {
  let tries = 0;
  let restarts = 0;
  restartBeforeRetry(async () => {
    restarts += 1;
  });

  it('has its machine restarted before the second, and only then', () => {
    tries += 1;
    expect({ tries, restarts }).toEqual({ tries: 2, restarts: 1 });
  });
});
