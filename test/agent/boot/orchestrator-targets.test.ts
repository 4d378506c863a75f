import { expect, test } from 'vitest';
import { orchestratorTargets } from '../../../agent/boot/orchestrator-targets.ts';
import { resolveConfig } from '../../../agent/config/resolve-config.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

const targets = (line: string, env: Record<string, string> = {}) =>
  orchestratorTargets(
    resolveConfig({
      flags: [],
      kernel: parseKernelArguments(line),
      env: [{ file: 'env_config', values: env }],
    }).config,
  );

test.each([
  ['kindling.server=http://10.0.0.1:8080', [{ host: '10.0.0.1', port: 8080 }]],
  ['kindling.server=https://site.example', [{ host: 'site.example', port: 443 }]],
  ['grpc_authority=10.0.0.1:42113', [{ host: '10.0.0.1', port: 42113 }]],
  ['quiet', []],
])('%s', (line, expected) => expect(targets(line)).toEqual(expected));

test('EMF’s services, each once', () => {
  expect(
    targets('', {
      onboarding_stream_svc: 'stream.site.example',
      onboarding_manager_svc: 'stream.site.example',
      OBM_PORT: '443',
    }),
  ).toEqual([{ host: 'stream.site.example', port: 443 }]);
});

test('behind a proxy it is the proxy that must be reachable', () => {
  expect(targets('kindling.server=https://site.example https_proxy=http://proxy.example:3128')).toEqual([
    { host: 'proxy.example', port: 3128 },
  ]);
});
