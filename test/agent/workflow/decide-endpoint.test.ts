import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../agent/config/resolve-config.ts';
import { withServerDefaults } from '../../../agent/connection/server-defaults.ts';
import { decideWorkflowEndpoint } from '../../../agent/workflow/decide-endpoint.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

function decide(kernel: string, env: Record<string, string> = {}) {
  const resolved = resolveConfig({
    flags: [],
    kernel: parseKernelArguments(kernel),
    env: [{ file: 'e', values: env }],
  });
  return decideWorkflowEndpoint(withServerDefaults(resolved).config);
}

describe('where the workflow server is', () => {
  it('row: EMF → the boot script names the node’s own proxy, so the server behind it counts, with TLS and token', () => {
    const kernel = 'grpc_authority=127.0.0.1:42113 tinkerbell_tls=false';
    expect(decide(kernel, { tink_server_svc: 'tinkerbell-server.site.example' })).toEqual({
      endpoint: { host: 'tinkerbell-server.site.example', port: 443, tls: 'verified' },
      sendsToken: true,
    });
  });

  it('row: Tinkerbell, plain → as told, and never with a token', () => {
    expect(decide('grpc_authority=192.168.2.50:42113 tinkerbell_tls=false')).toEqual({
      endpoint: { host: '192.168.2.50', port: 42113, tls: 'off' },
      sendsToken: false,
    });
  });

  it('row: Tinkerbell with TLS → verified, and with TLS that is not verified', () => {
    expect(decide('grpc_authority=[fd00::1]:42113').endpoint).toEqual({
      host: 'fd00::1',
      port: 42113,
      tls: 'verified',
    });
    const unverified = decide('grpc_authority=a:1 tinkerbell_insecure_tls=true');
    expect(unverified.endpoint.tls).toBe('unverified');
    expect(unverified.sendsToken, 'S-23: nobody knows who would get it').toBe(false);
  });

  it('Kindling: one address is enough', () => {
    expect(decide('kindling.server=https://kindling.site:8443')).toEqual({
      endpoint: { host: 'kindling.site', port: 8443, tls: 'verified' },
      sendsToken: true,
    });
    expect(decide('kindling.server=http://10.0.0.1:8080').endpoint).toEqual({
      host: '10.0.0.1',
      port: 8080,
      tls: 'off',
    });
  });

  it('another orchestrator next to a Kindling server that only watches', () => {
    const kernel = 'kindling.server=https://k:1 grpc_authority=10.0.0.9:42113 tinkerbell_tls=false';
    expect(decide(kernel).endpoint.host).toBe('10.0.0.9');
  });

  it('nowhere: an error that says what to set', () => {
    expect(() => decide('')).toThrowError(expect.objectContaining({ code: 'KND_CONFIG_MISSING' }));
  });
});
