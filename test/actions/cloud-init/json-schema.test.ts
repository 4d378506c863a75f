import { expect, it } from 'vitest';
import { checkUserData } from '../../../actions/cloud-init/check-user-data.ts';
import { checkAgainstSchema, type JsonSchema } from '../../../actions/cloud-init/json-schema.ts';

const SECRET = 'hunter2';

it.each<[JsonSchema, unknown]>([
  [{ type: 'integer' }, SECRET],
  [{ enum: ['a', 'b'] }, SECRET],
  [{ pattern: '^x' }, SECRET],
  [{ oneOf: [{ type: 'integer' }, { type: 'array' }] }, SECRET],
  [{ properties: { password: { type: 'array' } } }, { password: SECRET }],
  [{ items: { type: 'object' } }, [[SECRET]]],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { [`key`]: SECRET }],
])('what is wrong by %j is said without the value: it may be a password', (schema, value) => {
  const problems = checkAgainstSchema(schema, value);
  expect(problems).not.toEqual([]);
  expect(JSON.stringify(problems)).not.toContain(SECRET);
});

it('user data without a header is refused without being shown', () => {
  expect(checkUserData(`password: ${SECRET}\n`).join()).not.toContain(SECRET);
});
