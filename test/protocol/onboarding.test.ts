import { describe, expect, it } from 'vitest';
import {
  CreateNodesRequestSchema,
  CreateNodesResponseSchema,
  InteractiveOnboardingService,
  OnboardNodeStreamResponse_NodeState as NodeState,
  NonInteractiveOnboardingService,
  OnboardNodeStreamRequestSchema,
  OnboardNodeStreamResponseSchema,
} from '../../protocol/generated/onboarding_pb.js';
import { methodPath } from '../../protocol/grpc-service.ts';
import { itIsOnTheWire } from './bytes.ts';

const uuid = '4c4c4544-0035-3010-8056-b7c04f4a5931';

describe('onboarding on the wire', () => {
  it('has the full method names of the onboarding manager', () => {
    expect(methodPath(InteractiveOnboardingService.method.createNodes)).toBe(
      '/onboardingmgr.v1.InteractiveOnboardingService/CreateNodes',
    );
    expect(methodPath(NonInteractiveOnboardingService.method.onboardNodeStream)).toBe(
      '/onboardingmgr.v1.NonInteractiveOnboardingService/OnboardNodeStream',
    );
  });

  itIsOnTheWire(
    'all four fields',
    OnboardNodeStreamRequestSchema,
    `0a 24 "${uuid}"
     12 07 "5VJ0X13"
     1a 11 "52:54:00:12:34:56"
     22 09 "10.0.2.15"`,
    { uuid, serialnum: '5VJ0X13', macId: '52:54:00:12:34:56', hostIp: '10.0.2.15' },
  );
  itIsOnTheWire(
    'a serial number with spaces travels untouched',
    OnboardNodeStreamRequestSchema,
    '12 11 "To be filled by O"',
    { serialnum: 'To be filled by O' },
  );
  itIsOnTheWire(
    'NotFound in band: code 5 inside status, state 0 left out',
    OnboardNodeStreamResponseSchema,
    '0a 14  08 05  12 10 "Device not found"',
    { status: { code: 5, message: 'Device not found' } },
  );
  itIsOnTheWire(
    'REGISTERED: OK is an empty status that is there',
    OnboardNodeStreamResponseSchema,
    '0a 00  10 01  2a 05 "proj1"',
    { status: {}, nodeState: NodeState.REGISTERED, projectId: 'proj1' },
  );
  itIsOnTheWire(
    'ONBOARDED with credentials',
    OnboardNodeStreamResponseSchema,
    '0a 00  10 02  1a 0a "edgenode-1"  22 06 "secret"  2a 05 "proj1"',
    {
      status: {},
      nodeState: NodeState.ONBOARDED,
      clientId: 'edgenode-1',
      clientSecret: 'secret',
      projectId: 'proj1',
    },
  );
  itIsOnTheWire(
    'a status with a detail (Any: type URL 1, value 2)',
    OnboardNodeStreamResponseSchema,
    '0a 0d  08 09  1a 09  0a 03 "t/x"  12 02 00 ff',
    { status: { code: 9, details: [{ typeUrl: 't/x', value: Uint8Array.of(0x00, 0xff) }] } },
  );
  itIsOnTheWire(
    'one node with one set of hardware data',
    CreateNodesRequestSchema,
    `0a 46  0a 44
       0a 24 "${uuid}"
       12 05 "SN123"
       1a 0c "525400123456"
       22 07 "1.2.3.4"`,
    { payload: [{ hwdata: [{ uuid, serialnum: 'SN123', macId: '525400123456', sutIp: '1.2.3.4' }] }] },
  );
  itIsOnTheWire(
    'echo of the request and the project',
    CreateNodesResponseSchema,
    '0a 09  0a 07  12 05 "SN123"  12 05 "proj1"',
    { payload: [{ hwdata: [{ serialnum: 'SN123' }] }], projectId: 'proj1' },
  );
});
