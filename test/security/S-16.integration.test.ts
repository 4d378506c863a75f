import { afterEach, beforeEach, expect, it } from 'vitest';
import { failure } from '../orchestrator-stub/running-stub.ts';
import { AttackedSite, HONEST, OTHER } from './attacked-site.ts';

let site: AttackedSite;
beforeEach(async () => {
  site = await AttackedSite.start();
  await site.profile();
});
afterEach(() => site[Symbol.asyncDispose]());

it('a node that reports another’s MAC stands in nobody’s way', async () => {
  // A learns B's MAC and comes first, as the review has it.
  const thief = await site.install({ ...OTHER, macId: HONEST.macId });
  const honest = await site.install(HONEST);
  const action = await site.getAction(honest.token, HONEST.macId);
  expect(action.workflowId).toBe(`workflow-${HONEST.uuid}-g1`);
  expect((await site.getAction(thief.token, HONEST.macId)).workflowId).toBe(`workflow-${OTHER.uuid}-g1`);
});

it('a node that has nothing to do is told so, not that its MAC is another’s', async () => {
  await site.install({ ...OTHER, macId: HONEST.macId });
  await site.register({ uuid: HONEST.uuid, serial: HONEST.serialnum, autoOnboard: true });
  const token = await site.running.accessToken(await site.running.knock(HONEST));
  expect(await failure(site.getAction(token, HONEST.macId))).toMatchObject({
    code: expect.toSatisfy((code: number) => code === 5 || code === 9),
  });
});

it('a MAC that an operator registered is nobody else’s', async () => {
  await site.register({ mac: HONEST.macId, name: 'till', autoOnboard: true });
  await site.register({ uuid: OTHER.uuid, serial: OTHER.serialnum, autoOnboard: true });
  const { uuid, serialnum, macId } = OTHER;
  const stolen = await site.running.knock({ uuid, serialnum, macId: HONEST.macId.toUpperCase() });
  expect(stolen).toMatchObject({ status: { code: 5 }, clientSecret: '' });
  expect((await site.running.knock({ uuid, serialnum, macId })).status?.code).toBe(0);
  const person = String((await site.signIn()).body.access_token);
  const taken = { ...OTHER, uuid: '6f8a3c1e-0d2b-4a77-9c55-000000000001', macId: HONEST.macId };
  expect(await failure(site.createNodes(person, taken))).toMatchObject({ code: 7 });
});
