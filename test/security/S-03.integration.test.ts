import { afterEach, beforeEach, expect, it } from 'vitest';
import { failure } from '../orchestrator-stub/running-stub.ts';
import { AttackedSite, ghost, HONEST, OTHER } from './attacked-site.ts';

let site: AttackedSite;
beforeEach(async () => {
  site = await AttackedSite.start();
  await site.profile();
});
afterEach(() => site[Symbol.asyncDispose]());

const signedIn = async () => String((await site.signIn()).body.access_token);

it('a node’s token makes no other node; a deauthorization stays for every caller', async () => {
  const { token } = await site.install(HONEST);
  const victim = await site.register({ uuid: OTHER.uuid, serial: OTHER.serialnum, autoOnboard: true });
  await site.running.api('POST', `/api/v1/nodes/${victim.id}/deauthorise`);
  for (const caller of [token, await signedIn(), site.running.stub.token]) {
    expect(await failure(site.createNodes(caller, OTHER))).toMatchObject({ code: 7 });
  }
  expect(await site.node(victim.id)).toMatchObject({ currentState: 'UNTRUSTED' });
  const { uuid, serialnum, macId } = OTHER;
  const asked = await site.running.knock({ uuid, serialnum, macId });
  expect(asked).toMatchObject({ clientSecret: '' });
  expect(await failure(site.createNodes(token, ghost(1)))).toMatchObject({ code: 7 });
  await site.createNodes(token, HONEST);
});

it('ghosts count as what they are: machines that nobody registered', async () => {
  await site.running.api('PATCH', '/api/v1/site', { json: { maxUnknownMachines: 3 } });
  for (let number = 1; number <= 3; number += 1) await site.createNodes(await signedIn(), ghost(number));
  expect(await failure(site.createNodes(await signedIn(), ghost(4)))).toMatchObject({ code: 8 });
  expect((await site.running.api('GET', '/api/v1/nodes')).body.nodes).toHaveLength(3);
  // What an operator registers is never refused for them.
  expect(await site.register({ uuid: OTHER.uuid })).toMatchObject({ isRegistered: true });
});

it('one sign-in makes one node, not thirty', async () => {
  const token = await signedIn();
  await site.createNodes(token, ghost(1));
  await site.createNodes(token, ghost(1));
  for (let number = 2; number <= 30; number += 1) {
    expect(await failure(site.createNodes(token, ghost(number)))).toMatchObject({ code: 7 });
  }
  expect((await site.running.api('GET', '/api/v1/nodes')).body.nodes).toHaveLength(1);
});
