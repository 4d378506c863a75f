import type { Arbitrary } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Host, status, swapUuidFields } from '../../../orchestrator-stub/nodes/host.ts';
import { type Candidates, decideOnboarding } from '../../../orchestrator-stub/nodes/onboarding-decision.ts';
import { correctHost, newHost, registerHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { isSerial } from '../../../orchestrator-stub/nodes/serial.ts';
import { toHostId } from '../../../protocol/ids.ts';
import fc from '../../seeds/fast-check.ts';

const now = new Date('2026-11-16T03:00:00Z');
const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';
const KNOCK = { uuid: UUID, serial: 'ABC12345', mac: '52:54:00:12:34:56', ip: '10.0.2.15' };

function host(change: Partial<Host> = {}): Host {
  return {
    ...registerHost(
      newHost(toHostId('host-1'), 'project', now),
      { uuid: UUID, serial: 'ABC12345', autoOnboard: true },
      now,
    ),
    ...change,
  };
}

function decide(
  candidates: Partial<Candidates>,
  knock: Partial<typeof KNOCK> = {},
  policy: { isStrict?: boolean; isProvisioned?: boolean; isMacOfAnother?: boolean } = {},
) {
  const isStrict = policy.isStrict ?? true;
  return decideOnboarding(
    { ...KNOCK, ...knock },
    {
      byUuid: undefined,
      byMac: undefined,
      ...candidates,
      bySerial: isSerial(knock.serial ?? KNOCK.serial, isStrict) ? candidates.bySerial : undefined,
    },
    {
      isStrict,
      isProvisioned: () => policy.isProvisioned ?? false,
      isMacOfAnother: () => policy.isMacOfAnother ?? false,
    },
    now,
  );
}

const both = (change: Partial<Host> = {}) => ({ byUuid: host(change), bySerial: host(change) });

describe('the response table of the onboarding stream (docs/background/emf.md#onboarding-stream)', () => {
  test('row: not found → 5 “Device not found”, the stream stays open', () => {
    expect(decide({})).toEqual({
      code: 5,
      message: 'Device not found',
      state: 'UNSPECIFIED',
      isStreamKept: true,
    });
  });

  test('row: the serial differs → not found, and the host says why', () => {
    const decision = decide({ byUuid: host() }, { serial: 'OTHER999' });
    expect(decision).toMatchObject({ code: 5, message: 'Device not found', isStreamKept: true });
    expect(decision.save?.registrationStatus).toMatchObject({
      text: 'Host Registration Failed due to mismatch of Serial Number, Reported Serial Number is: OTHER999',
      indicator: 'ERROR',
    });
    expect(decision.save).toMatchObject({ reportedMac: null, reportedIp: null });
  });

  test('row: the UUID differs → not found, and the host says why', () => {
    const decision = decide({ bySerial: host() }, { uuid: UUID.replace('6f', '7f') });
    expect(decision.save?.registrationStatus.text).toBe(
      `Host Registration Failed due to mismatch of UUID, Reported UUID is: ${UUID.replace('6f', '7f')}`,
    );
  });

  test('row: UUID and serial of two hosts → 13 “Internal server error”, closed', () => {
    expect(decide({ byUuid: host(), bySerial: host({ id: toHostId('host-2') }) })).toEqual({
      code: 13,
      message: 'Internal server error',
      state: 'UNSPECIFIED',
      isStreamKept: false,
    });
  });

  test('row: already onboarded → 9 with the state’s name, closed', () => {
    expect(decide(both({ currentState: 'ONBOARDED' }))).toEqual({
      code: 9,
      message: 'Node is already HOST_STATE_ONBOARDED',
      state: 'UNSPECIFIED',
      isStreamKept: false,
    });
  });

  test('not as EMF: a registration in error lets the right machine in, because anybody can bring the error about', () => {
    const registrationStatus = status('mismatch', 'ERROR', now);
    expect(decide(both({ registrationStatus, currentState: 'REGISTERED' }))).toMatchObject({
      code: 0,
      state: 'ONBOARDED',
    });
  });

  test('not as EMF: a node that was let in before keeps its state when somebody says a wrong serial', () => {
    expect(decide({ byUuid: host({ reportedMac: KNOCK.mac }) }, { serial: 'OTHER999' })).toEqual({
      code: 5,
      message: 'Device not found',
      state: 'UNSPECIFIED',
      isStreamKept: true,
    });
  });

  test('the MAC that an operator registered for another node → not found', () => {
    const decision = decide(both(), {}, { isMacOfAnother: true });
    expect(decision).toMatchObject({ code: 5, isStreamKept: true });
    expect(decision.save).toBeUndefined();
  });

  test('row: wanted REGISTERED → 0, REGISTERED, the stream stays open', () => {
    const decision = decide(both({ desiredState: 'REGISTERED' }));
    expect(decision).toMatchObject({ code: 0, state: 'REGISTERED', isStreamKept: true });
    expect(decision.save).toMatchObject({
      currentState: 'REGISTERED',
      reportedMac: KNOCK.mac,
      reportedIp: KNOCK.ip,
      registrationStatus: { text: 'Host is Registered', indicator: 'IDLE' },
    });
  });

  test('row: wanted ONBOARDED → 0, ONBOARDED, closed', () => {
    const decision = decide(both());
    expect(decision).toMatchObject({ code: 0, state: 'ONBOARDED', isStreamKept: false });
    expect(decision.save).toMatchObject({
      currentState: 'ONBOARDED',
      onboardingStatus: { text: 'Onboarded' },
    });
  });

  test.each(['UNSPECIFIED', 'DELETED', 'UNTRUSTED'] as const)(
    'row: wanted %s → 9 “The node state is unspecified”',
    (desiredState) => {
      expect(decide(both({ desiredState }))).toMatchObject({
        code: 9,
        message: 'The node state is unspecified',
        isStreamKept: false,
      });
    },
  );
});

describe('what a node says about itself', () => {
  test.each([
    [
      { uuid: '' },
      'invalid OnboardNodeStreamRequest.Uuid: value must be a valid UUID | caused by: invalid uuid format',
    ],
    [
      { uuid: 'not-a-uuid' },
      'invalid OnboardNodeStreamRequest.Uuid: value must be a valid UUID | caused by: invalid uuid format',
    ],
    [
      { mac: '52:54:00' },
      'invalid OnboardNodeStreamRequest.MacId: value does not match regex pattern "^([0-9a-fA-F]{2}([-:])){5}[0-9a-fA-F]{2}$"',
    ],
    [{ ip: 'fe80::1' }, /^invalid OnboardNodeStreamRequest.HostIp: value does not match regex pattern/],
  ])('row: %o → 3 with EMF’s text', (knock, message) => {
    const decision = decide(both(), knock);
    expect(decision).toMatchObject({ code: 3, state: 'UNSPECIFIED', isStreamKept: false });
    expect(decision.message).toMatch(message);
    expect(decision.save).toBeUndefined();
  });

  test('row: several faults → the first in the order uuid, serial, mac, ip counts', () => {
    expect(decide(both(), { mac: 'x', ip: 'y' }).message).toContain('.MacId');
    expect(decide(both(), { uuid: 'x', mac: 'y' }).message).toContain('.Uuid');
  });

  test('trap 5: a serial with spaces becomes N/A and hides faults of MAC and IP', () => {
    const registered = host({ serial: 'N/A' });
    expect(decide({ byUuid: registered }, { serial: 'Default string', mac: 'x', ip: 'y' })).toMatchObject({
      code: 0,
    });
    const mismatch = decide({ byUuid: host() }, { serial: 'To Be Filled' });
    expect(mismatch.save?.registrationStatus.text).toContain('Reported Serial Number is: N/A');
  });

  test('row: registered by UUID alone → any serial is accepted', () => {
    expect(decide({ byUuid: host({ serial: null }) }, { serial: 'WHATEVER1' })).toMatchObject({
      code: 0,
      state: 'ONBOARDED',
    });
  });

  test('row: registered by serial alone → the UUID is learned', () => {
    const decision = decide({ bySerial: host({ uuid: null }) });
    expect(decision.save?.uuid).toBe(UUID);
  });

  test('registered by MAC alone: both are learned (ours, not EMF’s)', () => {
    const decision = decide({ byMac: host({ uuid: null, serial: null, mac: KNOCK.mac }) });
    expect(decision).toMatchObject({ code: 0, state: 'ONBOARDED' });
    expect(decision.save).toMatchObject({ uuid: UUID, reportedSerial: 'ABC12345' });
  });

  test('trap 4: the MAC is kept byte for byte, it is the worker id', () => {
    expect(decide(both(), { mac: '52-54-00-AA-bb-01' }).save?.reportedMac).toBe('52-54-00-AA-bb-01');
  });
});

describe('better than EMF where nobody relies on it', () => {
  test('an onboarded node that is not provisioned yet may come again; a provisioned one may not', () => {
    const onboarded = both({ currentState: 'ONBOARDED' });
    expect(decide(onboarded, {}, { isStrict: false })).toMatchObject({ code: 0, state: 'ONBOARDED' });
    expect(decide(onboarded, {}, { isStrict: false, isProvisioned: true })).toMatchObject({ code: 9 });
  });

  test.each([
    ['by UUID and serial', both({ registrationStatus: status('mismatch', 'ERROR', now) })],
    // found by the property below, with seed 137905687
    ['by UUID alone', { byUuid: host({ serial: null, registrationStatus: status('bad', 'ERROR', now) }) }],
  ])(
    'a mismatch that a stranger made neither locks out the right machine nor stays: registered %s',
    (_how, candidates) => {
      const decision = decide(candidates, {}, { isStrict: false });
      expect(decision).toMatchObject({ code: 0, state: 'ONBOARDED', isStreamKept: false });
      expect(decision.save?.registrationStatus).toEqual(status('Host is Registered', 'IDLE', now));
      expect(decide(candidates, {}, { isStrict: true })).toEqual(decision);
    },
  );

  test('correcting a registration clears its mismatch', () => {
    const wrong = host({ serial: 'WRONG111', registrationStatus: status('mismatch', 'ERROR', now) });
    const corrected = correctHost(wrong, { serial: 'ABC12345' }, now);
    expect(decide({ byUuid: corrected, bySerial: corrected })).toMatchObject({ code: 0 });
  });

  test('the byte-swapped UUID of old firmware tools is its own inverse', () => {
    expect(swapUuidFields(UUID)).toBe('1e3c8a6f-2b0d-774a-9c55-d1e0f2a3b4c5');
    expect(swapUuidFields(swapUuidFields(UUID))).toBe(UUID);
  });
});

test('credentials are only ever given to a host that is wanted ONBOARDED, and none is in error then', () => {
  const state = fc.constantFrom(
    'UNSPECIFIED',
    'DELETED',
    'ONBOARDED',
    'UNTRUSTED',
    'REGISTERED',
  ) as Arbitrary<Host['currentState']>;
  const someHost = fc
    .record({
      id: fc.constantFrom(toHostId('host-1'), toHostId('host-2')),
      uuid: fc.constantFrom(UUID, null),
      serial: fc.constantFrom('ABC12345', 'N/A', null),
      desiredState: state,
      currentState: state,
      registrationStatus: fc.constantFrom(status('', 'IDLE', now), status('bad', 'ERROR', now)),
    })
    .map(host);
  const maybe = fc.option(someHost, { nil: undefined });
  fc.assert(
    fc.property(
      fc.record({ byUuid: maybe, bySerial: maybe, byMac: maybe }),
      fc.record({
        uuid: fc.constantFrom(UUID, '', 'x'),
        serial: fc.constantFrom('ABC12345', 'a b', ''),
        ip: fc.constantFrom('10.0.0.1', '::1'),
      }),
      fc.boolean(),
      fc.boolean(),
      (candidates, knock, isStrict, isProvisioned) => {
        const decision = decide(candidates, knock, { isStrict, isProvisioned });
        const isIn = decision.state === 'ONBOARDED';
        expect(isIn).toBe(decision.code === 0 && !decision.isStreamKept);
        if (!isIn) return;
        expect(decision.host?.desiredState).toBe('ONBOARDED');
        expect(decision.save?.registrationStatus.indicator).not.toBe('ERROR');
        expect(knock.uuid).toBe(UUID);
      },
    ),
  );
});
