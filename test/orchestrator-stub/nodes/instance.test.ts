import { expect, test } from 'vitest';
import {
  type AgentsStatus,
  createInstance,
  markAgents,
  markFirstBoot,
  markProvisioned,
  needsProvisioning,
  nextGeneration,
  systemLine,
} from '../../../orchestrator-stub/nodes/instance.ts';
import { newHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { toHostId } from '../../../protocol/ids.ts';
import fc from '../../seeds/fast-check.ts';

const now = new Date('2026-11-16T03:00:00Z');
const keys = (firstBootKey: string) => ({ firstBootKey, escrowKey: 'e', neighborsKey: 'n' });
const fresh = () =>
  createInstance({
    id: 'inst-1',
    host: newHost(toHostId('host-1'), 'p', now),
    profile: 'edge',
    keys: keys('k'),
    now,
  });

test('one generation is provisioned once; only a new generation asks again', () => {
  const done = markProvisioned(fresh(), 1, now);
  expect(needsProvisioning(done)).toBe(false);
  const again = nextGeneration(done, { profile: 'other', keys: keys('k2') }, now);
  expect(again).toMatchObject({ generation: 2, profile: 'other', firstBootAt: null, firstBootKey: 'k2' });
  expect(needsProvisioning(again)).toBe(true);
});

test('agents that ran once stay finished, and a new generation starts without their word', () => {
  const said = (state: AgentsStatus['state']) => ({ state, reason: '' });
  const installing = markAgents(fresh(), said('installing'), now);
  expect(systemLine(installing)).toBe('Installing agents');
  const ready = markAgents(installing, said('ready'), now);
  expect(systemLine(ready)).toBe('Running');
  expect(markAgents(ready, said('installing'), now)).toBe(ready);
  expect(nextGeneration(ready, { keys: keys('k2') }, now)).not.toHaveProperty('agents');
});

test('late word about an older generation changes nothing', () => {
  const second = nextGeneration(fresh(), { keys: keys('k2') }, now);
  expect(markProvisioned(second, 1, now)).toBe(second);
});

test('the same generation never wipes twice, in whatever order things happen', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('provisioned' as const), generation: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constantFrom('reprovision' as const, 'first boot' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let instance = fresh();
      const wiped = new Set<number>();
      for (const each of steps) {
        // Whenever provisioning is needed, a workflow of this generation may run; once it succeeded, never again.
        if (needsProvisioning(instance)) expect(wiped.has(instance.generation)).toBe(false);
        if (each.kind === 'provisioned') {
          const before = instance;
          instance = markProvisioned(instance, each.generation, now);
          if (instance !== before) wiped.add(each.generation);
        } else if (each.kind === 'reprovision') instance = nextGeneration(instance, { keys: keys('x') }, now);
        else instance = markFirstBoot(instance, now);
        expect(instance.provisionedGeneration).toBeLessThanOrEqual(instance.generation);
      }
    }),
  );
});
