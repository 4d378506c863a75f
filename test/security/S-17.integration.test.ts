import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkflowActionsRequestSchema, WorkflowService } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { failure } from '../orchestrator-stub/running-stub.ts';
import { AttackedSite, HONEST, OTHER, PERSON } from './attacked-site.ts';

let site: AttackedSite;
let now: Date;
beforeEach(async () => {
  now = new Date('2026-11-18T08:00:00Z');
  site = await AttackedSite.start({ now: () => now });
  await site.profile();
});
afterEach(() => site[Symbol.asyncDispose]());

const later = (minutes: number) => {
  now = new Date(now.getTime() + minutes * 60_000);
};
const actionsOf = (token: string, uuid: string) =>
  callUnary(
    site.running.client(),
    WorkflowService.method.getWorkflowActions,
    create(WorkflowActionsRequestSchema, { workflowId: `workflow-${uuid}-g1` }),
    { headers: { authorization: `Bearer ${token}` } },
  );

it('a technician’s sign-in opens the machine it was made at, and no other workflow of the site', async () => {
  await site.install(HONEST);
  await site.running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge', autoProvision: true } });
  const { access_token: token } = (await site.signIn()).body;
  expect(await failure(actionsOf(token, HONEST.uuid))).toMatchObject({ code: 7 });
  await site.createNodes(token, OTHER);
  await site.workflowOf(OTHER);
  expect(await actionsOf(token, OTHER.uuid)).toMatchObject({ actionList: expect.anything() });
  expect(await failure(actionsOf(token, HONEST.uuid))).toMatchObject({ code: 7 });
  expect((await site.getAction(token, OTHER.macId)).workflowId).toBe(`workflow-${OTHER.uuid}-g1`);
  expect(await failure(site.getAction(token, HONEST.macId))).toMatchObject({ code: 9 });
});

it('a sign-in takes over no system that is in use', async () => {
  const { token } = await site.install(HONEST);
  await site.finish(token, HONEST);
  const { access_token: person } = (await site.signIn()).body;
  expect(await failure(site.createNodes(person, HONEST))).toMatchObject({
    code: 7,
    details: expect.stringContaining('in use'),
  });
  expect(await failure(actionsOf(person, HONEST.uuid))).toMatchObject({ code: 7 });
});

it('a refresh token works once; a copy of it ends the sign-in for both', async () => {
  const { refresh_token: first, access_token: token } = (await site.signIn()).body;
  const { refresh_token: second } = (await site.refresh(first)).body;
  expect(second).not.toBe(first);
  // The answer may have been lost on its way: for a minute the same is asked for once more.
  expect((await site.refresh(first)).status).toBe(200);
  later(2);
  expect(await site.refresh(first)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect((await site.refresh(second)).status, 'the thief may be either').toBe(400);
  expect(await failure(site.createNodes(token, OTHER))).toMatchObject({ code: 16 });
});

it('a sign-in ends after a day, however often it is renewed', async () => {
  let { refresh_token: token } = (await site.signIn()).body;
  for (let hours = 0; hours < 23; hours += 1) {
    later(60);
    token = (await site.refresh(token)).body.refresh_token;
  }
  later(61);
  expect((await site.refresh(token)).status).toBe(400);
});

it('a new password ends what the old one began', async () => {
  const { refresh_token: refresh, access_token: token } = (await site.signIn()).body;
  await site.running.restart({ user: PERSON });
  expect((await site.refresh(refresh)).status, 'the same password changes nothing').toBe(200);
  await site.running.restart({ user: { ...PERSON, password: 'another one' } });
  expect((await site.refresh(refresh)).status).toBe(400);
  expect(await failure(site.createNodes(token, OTHER))).toMatchObject({ code: 16 });
  expect((await site.signIn()).status).toBe(401);
  await site.running.restart({ user: { name: 'ada', password: 'a third one' } });
  expect((await site.signIn({ ...PERSON, password: 'another one' })).status, 'who no longer is there').toBe(
    401,
  );
});
