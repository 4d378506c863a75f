import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { validateConfig } from '../../standalone/config/validate.ts';
import { EXAMPLE_CONFIG } from '../../standalone/example.ts';

test('the example has no finding and is the file of the tutorial', () => {
  expect(validateConfig(EXAMPLE_CONFIG, { strict: true }).issues).toEqual([]);
  const tutorial = readFileSync(new URL('../../docs/tutorial/usb-stick.md', import.meta.url), 'utf8');
  expect(tutorial).toContain(`\`\`\`yaml\n${EXAMPLE_CONFIG}\`\`\``);
});
