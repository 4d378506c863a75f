import { expect, test } from 'vitest';
import { NODE, RunningStub } from './running-stub.ts';
import { firstBootPath, TOTAL_ACTIONS, work } from './work-through.ts';

interface NodeAnswer {
  status: string;
  generation: number;
  provisionedGeneration: number;
}

async function startSite(): Promise<RunningStub> {
  const running = await RunningStub.start();
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/ubuntu.raw.gz', osType: 'MUTABLE', skipKernelUpgrade: true },
  });
  await running.api('PATCH', '/api/v1/site', { json: { defaultProfile: 'edge' } });
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, autoOnboard: true },
  });
  return running;
}

const nodeOf = async (running: RunningStub) =>
  (await running.api('GET', `/api/v1/nodes/${NODE.uuid}`)).body as unknown as NodeAnswer;

test('a node that comes back before its system has reported is asked why, and its disk is not written again', async () => {
  await using running = await startSite();
  const actions = await work(running, TOTAL_ACTIONS);
  expect(actions.find(({ name }) => name === 'efibootset-for-diskboot')?.environment).toContain(
    'BOOT_POLICY=after-report',
  );
  // back in the Micro-OS, twice: each time it is asked, and nothing else
  for (const reason of ['its kernel died: Kernel panic', 'cloud-init never ran']) {
    expect((await work(running, 1, reason)).map(({ name }) => name)).toEqual(['post-mortem']);
    expect((await nodeOf(running)).status).toMatch(
      new RegExp(
        `^First Boot Failed: ${reason}; it was back in the Micro-OS \\d+ s after the restart \\(KND_FIRST_BOOT_FAILED\\)$`,
      ),
    );
  }
  expect(await nodeOf(running)).toMatchObject({ generation: 1, provisionedGeneration: 1 });
  const { body } = await running.api('GET', '/api/v1/workflows');
  expect((body.workflows as { template: string }[]).map(({ template }) => template).sort()).toEqual([
    'post-mortem',
    'post-mortem',
    'ubuntu',
  ]);
  // in the end it comes up after all
  const path = firstBootPath(actions);
  expect((await running.api('POST', path, { json: {}, token: null })).status).toBe(200);
  expect((await running.api('POST', `${path}/boot-order`, { token: null })).status).toBe(200);
  expect((await nodeOf(running)).status).toBe('Running');
  // from now on it is left alone, as EMF does
  expect((await running.knock()).status?.code).toBe(9);
});

test('a machine that asks the network first is sent to its disk once its system has reported, and only then', async () => {
  await using running = await startSite();
  const answerFor = async (mac: string) =>
    (await running.api('GET', `/tink-stack/local-boot/${mac}`, { token: null })).status;
  expect(await answerFor(NODE.macId)).toBe(404);
  const actions = await work(running, TOTAL_ACTIONS);
  expect(await answerFor(NODE.macId)).toBe(404);
  await running.api('POST', firstBootPath(actions), { json: {}, token: null });
  expect(await answerFor(NODE.macId)).toBe(200);
  expect(await answerFor(NODE.macId.toUpperCase().replaceAll(':', '-'))).toBe(200);
  for (const other of ['52:54:00:00:00:00', 'x', '%00', "'%20OR%201=1", '..%2F..%2Fetc%2Fpasswd']) {
    expect(await answerFor(other)).toBe(404);
  }
  await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
  expect(await answerFor(NODE.macId)).toBe(404);
});

test('a new generation is written anew, and reports under an address of its own', async () => {
  await using running = await startSite();
  const before = firstBootPath(await work(running, TOTAL_ACTIONS));
  await work(running, 1, 'cloud-init never ran');
  await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
  const after = firstBootPath(await work(running, TOTAL_ACTIONS));
  expect(after).not.toBe(before);
  expect((await running.api('POST', before, { json: {}, token: null })).status).toBe(404);
  expect((await running.api('POST', `${before}/boot-order`, { token: null })).status).toBe(404);
  expect((await running.api('POST', after, { json: {}, token: null })).status).toBe(200);
  expect(await nodeOf(running)).toMatchObject({ status: 'Running', provisionedGeneration: 2 });
});

test('a cloud-init of the operator’s own keeps the disk first, unless it asks for the other way', async () => {
  await using running = await startSite();
  const policy = async () =>
    (await work(running, TOTAL_ACTIONS))
      .find(({ name }) => name === 'efibootset-for-diskboot')
      ?.environment.filter((line) => line.startsWith('BOOT_POLICY'));
  const profile = {
    imageUrl: 'http://images.test/x.raw',
    skipKernelUpgrade: true,
    cloudInit: '#cloud-config\n',
  };
  await running.api('PUT', '/api/v1/profiles/edge', { json: profile });
  expect(await policy()).toEqual(['BOOT_POLICY=disk-first']);
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { ...profile, variables: { BootPolicy: 'after-report' } },
  });
  await running.api('POST', `/api/v1/nodes/${NODE.uuid}/reprovision`, { json: {} });
  expect(await policy()).toEqual(['BOOT_POLICY=after-report']);
});
