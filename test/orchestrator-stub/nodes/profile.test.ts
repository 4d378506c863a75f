import { describe, expect, test } from 'vitest';
import {
  checkProfile,
  completeProfile,
  hasAgents,
  ProfileSchema,
  templateOf,
} from '../../../orchestrator-stub/nodes/profile.ts';

const profile = (fields: object) =>
  ProfileSchema.parse({ name: 'p', imageUrl: 'https://images.test/os.raw.gz', ...fields });
const check = (fields: object) => checkProfile(profile(fields), async () => undefined);
const AGENTS = { services: ['node-agent.service'] };

test('a profile that an older version saved has the defaults of what came later', () => {
  const { agents: _agents, standalone: _standalone, after: _after, ...older } = profile({});
  const completed = completeProfile(older as ReturnType<typeof profile>);
  expect(completed).toEqual(profile({}));
  expect(hasAgents(completed)).toBe(false);
});

test('the format says which template fits, unless the profile names one', () => {
  const template = (fields: object) => templateOf(profile(fields));
  expect(template({ imageFormat: 'iso', osType: 'IMMUTABLE' })).toBe('iso');
  expect(template({ imageFormat: 'iso', template: 'mine' })).toBe('mine');
  expect([template({}), template({ osType: 'IMMUTABLE' })]).toEqual(['ubuntu', 'microvisor']);
});

describe('what can never work is refused when the profile is saved', () => {
  test.each([
    [{ osType: 'IMMUTABLE', installerScript: '#!/bin/sh' }, /immutable system runs no installer/],
    [{ osType: 'IMMUTABLE', agents: { packages: ['node-agent'] } }, /immutable system installs no packages/],
    [{ installerScript: '#!/bin/sh', agents: { packages: ['x'] } }, /the script installs everything/],
    [{ standalone: true, agents: AGENTS }, /standalone node has no agents/],
    [{ imageFormat: 'iso', agents: AGENTS }, /an ISO is written as it is/],
    [{ imageFormat: 'iso', security: 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION' }, /cannot be encrypted/],
    [{ cloudInit: '#cloud-config', agents: AGENTS }, /replaces the file that starts its agents/],
  ])('%j', async (fields, message) => {
    await expect(check(fields)).rejects.toMatchObject({
      code: 'KND_PROFILE_INVALID',
      message: expect.stringMatching(message),
    });
  });

  test.each([{}, { agents: AGENTS }, { osType: 'IMMUTABLE', agents: AGENTS }, { standalone: true }])(
    'but not %j',
    async (fields) => {
      await expect(check(fields)).resolves.toBeUndefined();
    },
  );
});

test.each(['a b', 'x;reboot', '$(id)', '`id`', "it's", 'x\ny', 'x#y'])(
  'a variable of the agents cannot be %j: systemd and shells read the file',
  (value) => {
    expect(ProfileSchema.safeParse({ ...profile({}), agents: { variables: { A: value } } }).success).toBe(
      false,
    );
  },
);
