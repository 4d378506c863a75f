import { describe, expect, it } from 'vitest';
import {
  ActionRequestSchema,
  ActionResponseSchema,
  ActionStatusRequestSchema,
  ActionStatusResponseSchema,
  PreconditionFailureViolation,
  ActionStatusRequest_StateType as StateType,
  WorkflowService,
} from '../../protocol/generated/tink-current_pb.js';
import { methodPath } from '../../protocol/grpc-service.ts';
import { itIsOnTheWire } from './bytes.ts';

describe('tink-current on the wire', () => {
  it('has the method names of Tinkerbell 0.18 and later', () => {
    expect(Object.values(WorkflowService.method).map(methodPath)).toEqual([
      '/proto.WorkflowService/GetAction',
      '/proto.WorkflowService/ReportActionStatus',
    ]);
    expect(PreconditionFailureViolation.NO_ACTION_AVAILABLE).toBe(1);
  });

  itIsOnTheWire('agent id alone', ActionRequestSchema, '0a 11 "52:54:00:12:34:56"', {
    agentId: '52:54:00:12:34:56',
  });
  itIsOnTheWire('an empty agent id is present (edition 2023)', ActionRequestSchema, '0a 00', { agentId: '' });
  itIsOnTheWire(
    'CPU and memory',
    ActionRequestSchema,
    `12 2b
       0a 1b
         08 08  10 10
         1a 15  08 00  10 08  18 10  22 03 "AMD"  2a 04 "EPYC"  32 02 "nx"
       12 0c  0a 04 "16GB"  12 04 "15GB"`,
    {
      agentAttributes: {
        cpu: {
          totalCores: 8,
          totalThreads: 16,
          processors: [{ id: 0, cores: 8, threads: 16, vendor: 'AMD', model: 'EPYC', capabilities: ['nx'] }],
        },
        memory: { total: '16GB', usable: '15GB' },
      },
    },
  );
  itIsOnTheWire(
    'a block device and a network interface',
    ActionRequestSchema,
    `12 55
       1a 2f
         0a 03 "sda"  12 04 "SCSI"  1a 03 "SSD"  22 05 "239GB"  2a 04 "512B"
         32 03 "ATA"  3a 02 "M1"  42 01 "w"  4a 04 "S123"
       22 22
         0a 04 "eno1"  12 0b "52:54:00:12"  1a 08 "1000Mb/s"  22 03 "tso"`,
    {
      agentAttributes: {
        block: [
          {
            name: 'sda',
            controllerType: 'SCSI',
            driveType: 'SSD',
            size: '239GB',
            physicalBlockSize: '512B',
            vendor: 'ATA',
            model: 'M1',
            wwn: 'w',
            serialNumber: 'S123',
          },
        ],
        network: [{ name: 'eno1', mac: '52:54:00:12', speed: '1000Mb/s', enabledCapabilities: ['tso'] }],
      },
    },
  );
  itIsOnTheWire(
    'PCI, GPU, chassis, BIOS, board, product',
    ActionRequestSchema,
    `12 49
       2a 0c  0a 01 "v"  12 01 "p"  1a 01 "c"  22 01 "d"
       32 0c  0a 01 "V"  12 01 "P"  1a 01 "C"  22 01 "D"
       3a 06  0a 01 "s"  12 01 "v"
       42 09  0a 01 "v"  12 01 "1"  1a 01 "d"
       4a 0c  0a 01 "v"  12 01 "p"  1a 01 "1"  22 01 "s"
       52 0a  0a 01 "n"  12 01 "v"  1a 02 "sn"`,
    {
      agentAttributes: {
        pci: [{ vendor: 'v', product: 'p', class: 'c', driver: 'd' }],
        gpu: [{ vendor: 'V', product: 'P', class: 'C', driver: 'D' }],
        chassis: { serial: 's', vendor: 'v' },
        bios: { vendor: 'v', version: '1', releaseDate: 'd' },
        baseboard: { vendor: 'v', product: 'p', version: '1', serialNumber: 's' },
        product: { name: 'n', vendor: 'v', serialNumber: 'sn' },
      },
    },
  );
  itIsOnTheWire(
    'an action with every field',
    ActionResponseSchema,
    `0a 05 "ns/wf"
     12 02 "T1"
     1a 02 "w1"
     22 02 "A1"
     2a 04 "name"
     32 05 "img:1"
     38 b0 04
     42 02 "sh"
     4a 09 "/dev:/dev"
     52 03 "A=1"
     5a 04 "host"
     62 0c  0a 04 "host"  12 04 "host"`,
    {
      workflowId: 'ns/wf',
      taskId: 'T1',
      agentId: 'w1',
      actionId: 'A1',
      name: 'name',
      image: 'img:1',
      timeout: 560n,
      command: ['sh'],
      volumes: ['/dev:/dev'],
      environment: ['A=1'],
      pid: 'host',
      namespaces: { network: 'host', pid: 'host' },
    },
  );
  itIsOnTheWire('a timeout of zero is not the same as none', ActionResponseSchema, '38 00', { timeout: 0n });
  itIsOnTheWire(
    'a report with every field',
    ActionStatusRequestSchema,
    `0a 05 "ns/wf"
     12 02 "w1"
     1a 02 "T1"
     22 02 "A1"
     2a 04 "name"
     30 05
     3a 06  08 80 e2 cf aa 06
     42 08  08 81 e2 cf aa 06  10 01
     4a 05 "2s1ms"
     52 04  0a 02 "ok"`,
    {
      workflowId: 'ns/wf',
      agentId: 'w1',
      taskId: 'T1',
      actionId: 'A1',
      actionName: 'name',
      actionState: StateType.SUCCESS,
      executionStart: { seconds: 1_700_000_000n },
      executionStop: { seconds: 1_700_000_001n, nanos: 1 },
      executionDuration: '2s1ms',
      message: { message: 'ok' },
    },
  );
  for (const [state, number] of [
    [StateType.PENDING, '01'],
    [StateType.RUNNING, '02'],
    [StateType.FAILED, '03'],
    [StateType.TIMEOUT, '04'],
    [StateType.SUCCESS, '05'],
  ] as const) {
    itIsOnTheWire(`state ${StateType[state]} is ${number}`, ActionStatusRequestSchema, `30 ${number}`, {
      actionState: state,
    });
  }
  itIsOnTheWire('nothing at all', ActionStatusResponseSchema, '', {});
});
