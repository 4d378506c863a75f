import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OnboardNodeStreamResponse_NodeState as NodeState } from '../../protocol/generated/onboarding_pb.js';
import { WorkflowService as LegacyService, State } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary, collectServerStream } from '../../protocol/grpc-service.ts';
import { NODE, RunningStub } from './running-stub.ts';

const PROFILE = { imageUrl: 'https://images.test/os.raw.gz', osType: 'IMMUTABLE' };
let running: RunningStub;

beforeEach(async () => {
  running = await RunningStub.start();
  await running.api('PUT', '/api/v1/profiles/edge', { json: PROFILE });
  await running.api('PUT', '/api/v1/profiles/other', { json: { ...PROFILE, osType: 'MUTABLE' } });
});

afterEach(() => running[Symbol.asyncDispose]());

const node = async () => (await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body;
const register = (extra = {}) =>
  running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true, ...extra },
  });
const contexts = () =>
  collectServerStream(running.client(), LegacyService.method.getWorkflowContexts, { workerId: NODE.macId });

/** Works through whatever is to do, up to and with `last`. */
async function work(last = 'reboot'): Promise<string[]> {
  const client = running.client();
  const [context] = await contexts();
  if (!context) return [];
  const { workflowId } = context;
  const { actionList } = await callUnary(client, LegacyService.method.getWorkflowActions, { workflowId });
  const done: string[] = [];
  for (const { name, taskName } of actionList.slice(Number(context.currentActionIndex))) {
    for (const actionStatus of [State.RUNNING, State.SUCCESS]) {
      await callUnary(client, LegacyService.method.reportActionStatus, {
        workflowId,
        taskName,
        actionName: name,
        actionStatus,
      });
    }
    done.push(name);
    if (name === last) break;
  }
  return done;
}

describe('from onboarding to a workflow', () => {
  test('zero touch: the default profile at once', async () => {
    await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    await register();
    await running.knock();
    expect(await node()).toMatchObject({
      profile: 'edge',
      generation: 1,
      status: 'Provisioning In Progress: 1/8: Verifying Secure Boot settings',
      workflow: { state: 'PENDING', total: 8 },
    });
  });

  test('manual: nothing happens until somebody chooses', async () => {
    await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge', autoProvision: false } });
    await register();
    await running.knock();
    expect(await node()).toMatchObject({
      profile: null,
      workflow: null,
      status: 'Onboarded, waiting for a profile',
    });
    await running.api('POST', `/api/v1/nodes/${NODE.uuid}/provision`, { json: { profile: 'other' } });
    await expect.poll(node).toMatchObject({ profile: 'other', workflow: { total: 12 } });
    const again = await running.api('POST', `/api/v1/nodes/${NODE.uuid}/provision`, {
      json: { profile: 'edge' },
    });
    expect(again).toMatchObject({ status: 409, body: { code: 'KND_NODE_STATE' } });
  });

  test('a profile chosen at registration wins over the default, also in manual mode', async () => {
    await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge', autoProvision: false } });
    await register({ profile: 'other' });
    await running.knock();
    expect(await node()).toMatchObject({ profile: 'other', workflow: { total: 12 } });
  });

  test('a template that does not render is said in the node’s status', async () => {
    await running.api('PUT', '/api/v1/templates/broken', {
      json: { text: 'tasks:\n  - name: {{ .Nothing }}' },
    });
    await running.api('PUT', '/api/v1/profiles/broken', { json: { ...PROFILE, template: 'broken' } });
    await register({ profile: 'broken' });
    await running.knock();
    await expect
      .poll(async () => (await node()).provisioningStatus)
      .toMatchObject({
        indicator: 'ERROR',
        text: expect.stringContaining('broken:2:13'),
      });
  });
});

describe('re-provisioning', () => {
  beforeEach(async () => {
    await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
    await register();
    await running.knock();
    expect(await work()).toHaveLength(8);
  });

  test('the same generation never wipes twice', async () => {
    // Before its system has reported, the node is asked why (first-boot.integration.test.ts), and nothing else.
    expect((await running.knock()).nodeState).toBe(NodeState.ONBOARDED);
    expect(await work()).toEqual(['post-mortem']);
    expect(await node()).toMatchObject({ generation: 1, provisionedGeneration: 1 });
  });

  test('one call makes a new generation, and the node may come in again', async () => {
    const { body } = await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, {
      json: { profile: 'other' },
    });
    expect(body).toMatchObject({
      generation: 2,
      provisionedGeneration: 1,
      status: 'Waiting for the node to network-boot',
    });
    expect(await work()).toEqual([]);
    expect((await running.knock()).nodeState).toBe(NodeState.ONBOARDED);
    expect(await work()).toHaveLength(12);
    expect(await node()).toMatchObject({ generation: 2, provisionedGeneration: 2, profile: 'other' });
  });

  test('in the middle of a workflow it replaces it', async () => {
    await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
    await running.knock();
    await work('stream-os-image');
    await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
    const { workflows } = (await running.api('GET', `/api/v1/workflows?node=${NODE.uuid}`)).body;
    expect(workflows.map(({ state }: { state: string }) => state)).toEqual([
      'SUCCESS',
      'CANCELLED',
      'PENDING', // the node is there, and need not come in again
    ]);
    await running.knock();
    expect((await work()).at(0)).toBe('secure-boot-status-flag-read');
    expect(await node()).toMatchObject({ generation: 3, provisionedGeneration: 3 });
  });
});

/** Reports that the action it is at has failed. */
async function fail(message = 'broken'): Promise<string> {
  const client = running.client();
  const [context] = await contexts();
  const workflowId = context?.workflowId ?? '';
  const { actionList } = await callUnary(client, LegacyService.method.getWorkflowActions, { workflowId });
  const action = actionList[Number(context?.currentActionIndex)];
  for (const actionStatus of [State.RUNNING, State.FAILED]) {
    await callUnary(client, LegacyService.method.reportActionStatus, {
      workflowId,
      taskName: action?.taskName ?? '',
      actionName: action?.name ?? '',
      actionStatus,
      message,
    });
  }
  return workflowId;
}

describe('correct it and try again', () => {
  const RIGHT = 'https://images.test/right.raw.gz';

  async function failAt(last: string): Promise<string> {
    await register({ profile: 'edge' });
    await running.knock();
    await expect.poll(contexts).toHaveLength(1);
    await work(last);
    return fail();
  }

  test('retry renders anew, and says what has changed', async () => {
    const id = await failAt('erase-non-removable-disk');
    await running.api('PUT', '/api/v1/profiles/edge', { json: { ...PROFILE, imageUrl: RIGHT } });
    const { body } = await running.api('POST', `/api/v1/workflows/${id}/retry`);
    expect(body).toMatchObject({ state: 'RUNNING', current: 2, message: expect.stringContaining(RIGHT) });
    const { actionList } = await callUnary(running.client(), LegacyService.method.getWorkflowActions, {
      workflowId: id,
    });
    expect(actionList[2]?.environment).toContain(`IMG_URL=${RIGHT}`);
    expect(await work()).toContain('stream-os-image');
    expect(await node()).toMatchObject({ provisionedGeneration: 1 });
  });

  test('with --as-it-was it does not', async () => {
    const id = await failAt('erase-non-removable-disk');
    await running.api('PUT', '/api/v1/profiles/edge', { json: { ...PROFILE, imageUrl: RIGHT } });
    await running.api('POST', `/api/v1/workflows/${id}/retry?asItWas=true`);
    const { actionList } = await callUnary(running.client(), LegacyService.method.getWorkflowActions, {
      workflowId: id,
    });
    expect(actionList[2]?.environment).toContain(`IMG_URL=${PROFILE.imageUrl}`);
  });

  test('a disk that has been written is not written again by a retry', async () => {
    const id = await failAt('stream-os-image');
    await running.api('PUT', '/api/v1/profiles/edge', { json: { ...PROFILE, imageUrl: RIGHT } });
    expect(await running.api('POST', `/api/v1/workflows/${id}/retry`)).toMatchObject({
      status: 409,
      body: { code: 'KND_WORKFLOW_STATE', hint: expect.stringContaining('reprovision') },
    });
  });

  test('a node that waits in the Micro-OS is served at once by reprovision, and by provision after a failed first try', async () => {
    await failAt('erase-non-removable-disk');
    const again = await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
    expect(again.body.status).not.toContain('network-boot');
    await expect.poll(contexts).toHaveLength(1); // without another knock
    await fail();
    await running.api('POST', `/api/v1/nodes/${NODE.uuid}/provision`, { json: { profile: 'other' } });
    await expect.poll(async () => (await contexts())[0]?.workflowId).toContain('-g3');
    expect(await work()).toHaveLength(12);
  });

  test('a corrected template starts the node that waited for it', async () => {
    const task = 'tasks:\n  - name: one\n    worker: "{{ .device_1 }}"\n    actions: [{name: a, image: ';
    await running.api('PUT', '/api/v1/templates/mine', { json: { text: `${task}"{{ .Nothing }}"}]` } });
    await running.api('PUT', '/api/v1/profiles/mine', { json: { ...PROFILE, template: 'mine' } });
    await register({ profile: 'mine' });
    await running.knock();
    await expect.poll(async () => (await node()).status).toContain('Provisioning Failed');
    await running.api('PUT', '/api/v1/templates/mine', { json: { text: `${task}cexec}]` } });
    await expect.poll(contexts).toHaveLength(1);
  });
});

describe('what cannot work is refused when it is said', () => {
  test('a template with a key that no template has is taken, as Tinkerbell takes it, with a warning', async () => {
    const text = 'version: "0.1"\ntaskz:\n  - name: one\n    worker: "{{ .device_1 }}"\n';
    expect(await running.api('PUT', '/api/v1/templates/x', { json: { text } })).toMatchObject({
      status: 200,
      body: { warnings: [expect.stringContaining('line 2: a template has no key "taskz"')] },
    });
  });

  test.each([
    ['an image that is no address', { osType: 'MUTABLE', imageUrl: 'not-a-url' }, 'KND_PROFILE_INVALID'],
    ['a template that is not there', { ...PROFILE, template: 'nosuch' }, 'KND_TEMPLATE_UNKNOWN'],
  ])('a profile with %s, unless forced', async (_, json, code) => {
    expect((await running.api('PUT', '/api/v1/profiles/x', { json })).body).toMatchObject({ code });
    expect((await running.api('PUT', '/api/v1/profiles/x?force=true', { json })).status).toBe(200);
  });

  test('to remove a profile that a node has, unless forced', async () => {
    await running.api('POST', '/api/v1/nodes', { json: { serial: 'ABC12345', profile: 'other' } });
    expect(await running.api('DELETE', '/api/v1/profiles/other')).toMatchObject({
      status: 409,
      body: { code: 'KND_PROFILE_IN_USE', title: '1 node has the profile other' },
    });
    expect((await running.api('DELETE', '/api/v1/profiles/other?force=true')).status).toBe(204);
  });
});

test('the server of an image is asked for it', async () => {
  const check = async (url: string) =>
    (await running.api('POST', '/api/v1/images/check', { json: { url } })).body;
  const own = running.stub.urls.http;
  expect(await check(`${own}/healthz`)).toEqual({ isThere: true, detail: 'the server answers 200' });
  expect(await check(`${own}/tink-stack/nothing.raw`)).toEqual({
    isThere: false,
    detail: 'the server answers 404',
  });
  expect(await check('http://127.0.0.1:1/os.raw')).toMatchObject({ isThere: false });
  expect(await check('oci://registry.test/os:1')).toMatchObject({ isThere: true });
});

test('a restart in the middle changes nothing: state, workflow, credentials, tokens, CA, settings', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
  await register();
  const client = await running.knock();
  const token = await running.accessToken(client);
  await work('stream-os-image');
  const before = {
    node: await node(),
    ca: running.stub.ca,
    site: (await running.api('GET', '/api/v1/site')).body,
  };
  await running.restart();
  expect({
    node: await node(),
    ca: running.stub.ca,
    site: (await running.api('GET', '/api/v1/site')).body,
  }).toEqual(before);
  expect((await running.knock()).clientSecret).toBe(client.clientSecret);
  await running.restart({ auth: 'required' });
  expect((await running.api('GET', '/api/v1/nodes', { token })).status).toBe(403);
  await running.restart();
  expect((await work()).at(0)).toBe('install-cloud-init');
  expect(await node()).toMatchObject({ provisionedGeneration: 1 });
});

test('a deleted node leaves nothing to do, and may be registered anew', async () => {
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
  await register();
  await running.knock();
  expect(await contexts()).toHaveLength(1);
  await running.api('DELETE', `/api/v1/nodes/${NODE.uuid}`);
  expect(await contexts()).toEqual([]);
  expect((await running.api('GET', '/api/v1/workflows')).body.workflows).toEqual([]);
  await register();
  await running.knock();
  expect(await work()).toHaveLength(8);
});
