import { describe, expect, it } from 'vitest';
import type { Config } from '../../../agent/config/resolve-config.ts';
import { resolveConfig } from '../../../agent/config/resolve-config.ts';
import { decideNodeFacts, type Interfaces } from '../../../agent/onboarding/node-facts.ts';
import { registeredDelayMs } from '../../../agent/onboarding/non-interactive.ts';
import type { Identity } from '../../../protocol/identity.ts';
import { toNodeId } from '../../../protocol/ids.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

const identity: Identity = {
  uuid: '4c4c4544-0035-3010-8056-b7c04f4a5931',
  macs: ['52:54:00:00:00:01', '52:54:00:00:00:02'],
  bootMac: '52:54:00:00:00:02',
  nodeId: toNodeId('n'),
  evidence: [{ field: 'serial', value: 'To be filled by O.E.M.', score: 0, reason: 'placeholder' }],
};

const address = (mac: string, ip: string, internal = false) => [
  { address: ip, netmask: '', family: 'IPv4' as const, mac, internal, cidr: null },
];
const interfaces: Interfaces = {
  lo: address('00:00:00:00:00:00', '127.0.0.1', true),
  eno1: address('52:54:00:00:00:01', '10.0.0.1'),
  eno2: address('52:54:00:00:00:02', '10.0.0.2'),
};

function configOf(kernel: string, flags: Record<string, string> = {}): Config {
  return resolveConfig({
    flags: Object.entries(flags).map(([name, value]) => ({ name, value })),
    kernel: parseKernelArguments(kernel),
    env: [],
  }).config;
}

describe('what the onboarding server is told', () => {
  it('is the NIC that booted, with its address, and the serial number just as the firmware has it', () => {
    expect(decideNodeFacts(configOf(''), identity, interfaces)).toEqual({
      uuid: identity.uuid,
      serial: 'To be filled by O.E.M.',
      mac: '52:54:00:00:00:02',
      ip: '10.0.0.2',
    });
  });

  it('is worker_id where the boot script gives it, and the address of that NIC whatever the spelling', () => {
    const facts = decideNodeFacts(configOf('worker_id=52-54-00-00-00-01 IP=10.9.9.9'), identity, interfaces);
    expect(facts).toMatchObject({ mac: '52-54-00-00-00-01', ip: '10.0.0.1' });
  });

  it('is the address iPXE had when no NIC has one', () => {
    expect(decideNodeFacts(configOf('IP=10.9.9.9'), identity, {}).ip).toBe('10.9.9.9');
  });

  it('is what a person says by hand, before everything else', () => {
    const flags = { uuid: 'U', serial: 'S', mac: '52:54:00:00:00:09', ip: '1.2.3.4' };
    expect(decideNodeFacts(configOf('', flags), identity, interfaces)).toEqual({
      uuid: 'U',
      serial: 'S',
      mac: '52:54:00:00:00:09',
      ip: '1.2.3.4',
    });
  });

  it('needs a MAC address', () => {
    const { bootMac: _, ...rest } = identity;
    expect(() => decideNodeFacts(configOf(''), { ...rest, macs: [] }, interfaces)).toThrowError(
      expect.objectContaining({ code: 'KND_CONFIG_MISSING' }),
    );
  });
});

describe('the wait while registered', () => {
  it('is 2, 4, 8, 16, 32 s and then 2 s again, plus up to a second', () => {
    const delays = [0, 1, 2, 3, 4, 5].map((asked) => registeredDelayMs(asked, () => 0));
    expect(delays).toEqual([2000, 4000, 8000, 16_000, 32_000, 2000]);
    expect(registeredDelayMs(0, () => 0.9999)).toBe(2999);
  });
});
