import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../../agent/config/settings.ts';

const agent = globSync('agent/**/*.ts')
  .filter((file) => file !== 'agent/config/settings.ts')
  .map((file) => readFileSync(file, 'utf8'));

test.each(Object.keys(SETTINGS))('the setting %s is read by the agent', (name) => {
  expect(
    agent.some((text) => new RegExp(`\\bconfig\\.${name}\\b|\\b${name}\\b[^;]*\\} = .*config`).test(text)),
  ).toBe(true);
});
