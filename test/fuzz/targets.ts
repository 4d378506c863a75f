import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Arbitrary } from 'fast-check';
import fc from 'fast-check';
import { decodeFile as decodeBz2File } from '../../actions/image-writer/decoders/bz2/decode-file.ts';
import { startBlockThreads } from '../../actions/image-writer/decoders/bz2.ts';
import { loadQcow2Map } from '../../actions/image-writer/decoders/qcow2-map.ts';
import { Crew } from '../../actions/image-writer/decoders/xz/crew.ts';
import { decodeFile as decodeXzFile } from '../../actions/image-writer/decoders/xz/decode-file.ts';
import { planThreads } from '../../actions/image-writer/decoders/xz/plan-threads.ts';
import { parseMemoryDevice } from '../../agent/identity/smbios/memory-device.ts';
import { parseSystemInformation } from '../../agent/identity/smbios/system-information.ts';
import { parseSmbiosTable } from '../../agent/identity/smbios/table.ts';
import { decodeCpio, encodeCpio } from '../../formats/cpio.ts';
import { parseCsv } from '../../formats/csv.ts';
import { probeSignatures } from '../../formats/disk-signatures/probe.ts';
import { decodeDevicePath } from '../../formats/efi/device-path.ts';
import { decodeLoadOption } from '../../formats/efi/load-option.ts';
import { decodeManifest, encodeManifest } from '../../formats/image-manifest.ts';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import { decodeEventLog, EVENT, findForgedEvent } from '../../formats/tpm/event-log.ts';
import { decodePublicArea, nameOf, publicKeyOf } from '../../formats/tpm/public-area.ts';
import { decodeQuote } from '../../formats/tpm/quote.ts';
import { decodeSignature } from '../../formats/tpm/signature.ts';
import { readBtrfs } from '../../images/unused/btrfs.ts';
import { readExt4 } from '../../images/unused/ext4.ts';
import { readFat } from '../../images/unused/fat.ts';
import { type FreeSpaceReader, PartitionReader } from '../../images/unused/file-system.ts';
import { readXfs } from '../../images/unused/xfs.ts';
import { PretendedTpm } from '../../lab/tpm/pretended-tpm.ts';
import { createHttpServer } from '../../net/server/http-server.ts';
import { classifyClient } from '../../netboot/dhcp/netboot-client.ts';
import { otlpProtobufToJson, readOtlpJson } from '../../orchestrator-stub/http/otlp.ts';
import { readMachineList } from '../../orchestrator-stub/imports/machine-list.ts';
import { DiscoverySchema } from '../../orchestrator-stub/nodes/discovery.ts';
import { makeCredential } from '../../orchestrator-stub/proof/make-credential.ts';
import { decodeDhcpPacket } from '../../protocol/dhcp/packet.ts';
import {
  CreateNodesRequestSchema,
  OnboardNodeStreamRequestSchema,
} from '../../protocol/generated/onboarding_pb.js';
import { ActionRequestSchema, ActionStatusRequestSchema } from '../../protocol/generated/tink-current_pb.js';
import { WorkflowActionStatusSchema } from '../../protocol/generated/tink-legacy_pb.js';
import { openDocument } from '../../protocol/signed-document.ts';
import { parseSyslog } from '../../protocol/syslog.ts';
import { decodeTftpPacket } from '../../protocol/tftp/packet.ts';
import { dialectOfReport } from '../../protocol/tink-dialect.ts';
import { eventLog } from '../formats/tpm/logged.ts';
import { decodeAndDrop } from './decode-and-drop.ts';
import {
  cpioArchive,
  csvFile,
  dhcpPacket,
  discoveryBody,
  efiLoadOption,
  httpRequest,
  imageManifest,
  otlpRequest,
  protobufMessage,
  qcow2File,
  signedDocument,
  smbiosTable,
  syslogLine,
  tftpPacket,
} from './structured.ts';
import {
  btrfsStructures,
  bz2Structures,
  ext4Structures,
  fatStructures,
  gptStructures,
  type Structure,
  withSmallLog,
  xfsStructures,
  xzStructures,
} from './structures.ts';

/** Something that reads bytes of strangers. */
export interface FuzzTarget {
  name: string;
  /** Inputs as they should be, which are then broken. */
  goods: readonly Buffer[];
  /** Inputs of the right shape with lies in them, beside the broken ones. */
  structured?: Arbitrary<Buffer>;
  /** Where lies are worth telling in a good input that is too large to be made anew. */
  structures?: (image: Buffer) => readonly Structure[];
  run: (input: Buffer) => unknown;
  /** Errors of the language that the reader throws on purpose and its caller catches. */
  mayThrow?: (thrown: Error) => boolean;
  /** Starting threads takes its time: of these fewer are run in `npm test`. */
  isSlow?: boolean;
  stop?: () => Promise<unknown>;
}

const text = (...lines: string[]) => lines.map((line) => Buffer.from(line));
const readAt = (bytes: Buffer) => (offset: number, length: number) =>
  Promise.resolve(bytes.subarray(offset, offset + length));
const ofJson = (thrown: Error): boolean => thrown instanceof SyntaxError;

/** A disk or file system as the real program makes it; only the first `bytes` of what it writes. */
function made(bytes: number, program: string, ...args: string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-fuzz-'));
  try {
    const file = join(folder, 'made');
    writeFileSync(file, '');
    truncateSync(file, bytes);
    execFileSync(
      program,
      args.map((arg) => arg.replace('FILE', file)),
      { stdio: ['pipe', 'ignore', 'ignore'], input: '' },
    );
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a machine shows of its TPM, which nobody believes yet. */
function tpmEvidence(): FuzzTarget[] {
  const { ekPublic, akPublic, quote, signature } = new PretendedTpm().showEvidence({
    nonce: Buffer.alloc(32, 7),
    pcrs: [0, 7],
  });
  return [
    {
      name: 'tpm key',
      goods: [ekPublic, akPublic],
      run: (input) => {
        const area = decodePublicArea(input);
        publicKeyOf(area);
        makeCredential(area, nameOf(area), Buffer.alloc(32));
      },
    },
    { name: 'tpm quote', goods: [quote], run: decodeQuote },
    { name: 'tpm signature', goods: [signature], run: decodeSignature },
    {
      name: 'tpm event log',
      goods: [eventLog([{ pcr: 7, type: EVENT.separator, data: Buffer.alloc(4) }])],
      run: (input) => findForgedEvent(decodeEventLog(input)),
    },
  ];
}

function dhcp(): FuzzTarget {
  const packet = Buffer.alloc(240);
  packet.set([1, 1, 6, 0]);
  packet.set([0x52, 0x54, 0, 0x12, 0x34, 0x56], 28);
  packet.set([99, 130, 83, 99], 236);
  const options = Buffer.from([
    53,
    1,
    1,
    93,
    2,
    0,
    7,
    97,
    17,
    0,
    ...Buffer.alloc(16, 7),
    60,
    9,
    ...Buffer.from('PXEClient'),
    77,
    4,
    3,
    ...Buffer.from('iPX'),
    82,
    4,
    1,
    2,
    3,
    4,
    175,
    3,
    19,
    1,
    1,
    255,
  ]);
  return {
    name: 'dhcp',
    structured: dhcpPacket,
    goods: [Buffer.concat([packet, options])],
    run: (input) => classifyClient(decodeDhcpPacket(input)),
  };
}

function protobuf(): FuzzTarget {
  const facts = {
    uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
    serialnum: 'ABC12345',
    macId: '52:54:00:12:34:56',
  };
  const schemas = [
    OnboardNodeStreamRequestSchema,
    CreateNodesRequestSchema,
    ActionStatusRequestSchema,
    WorkflowActionStatusSchema,
    ActionRequestSchema,
  ];
  return {
    name: 'protobuf',
    structured: protobufMessage,
    goods: [
      Buffer.from(toBinary(OnboardNodeStreamRequestSchema, create(OnboardNodeStreamRequestSchema, facts))),
      Buffer.from(
        toBinary(
          CreateNodesRequestSchema,
          create(CreateNodesRequestSchema, { payload: [{ hwdata: [facts] }] }),
        ),
      ),
      Buffer.from(
        toBinary(
          ActionStatusRequestSchema,
          create(ActionStatusRequestSchema, { workflowId: 'w', actionId: 'a', message: { message: 'm' } }),
        ),
      ),
      Buffer.from(
        toBinary(
          WorkflowActionStatusSchema,
          create(WorkflowActionStatusSchema, { workflowId: 'w', seconds: 7n }),
        ),
      ),
      Buffer.from(toBinary(ActionRequestSchema, create(ActionRequestSchema, { agentId: facts.macId }))),
    ],
    run: (input) => {
      dialectOfReport(input);
      for (const schema of schemas) {
        try {
          fromBinary(schema, input);
        } catch {
          // grpc-js turns whatever the library throws into an answer
        }
      }
    },
  };
}

function http(): FuzzTarget {
  const server: Server = createHttpServer({
    api: [],
    raw: [
      {
        method: 'POST',
        path: '/v1/{name}/{*}',
        access: 'anyone',
        answer: async ({ request, response }) => {
          for await (const _ of request);
          response.end('ok');
        },
      },
    ],
    authorize: async () => undefined,
    onFailure: () => {},
  });
  return {
    name: 'http',
    structured: httpRequest,
    goods: text(
      'POST /v1/a/b%2fc?x=1 HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc',
      'POST /v1/a/b HTTP/1.1\r\nhost: [::1]:80\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'GET /v1/../%00 HTTP/1.0\r\nhost: ^\r\norigin: null\r\nrange: bytes=0-\r\n\r\n',
    ),
    run: async (input) => {
      const [ours, theirs] = duplexPair();
      server.emit('connection', theirs);
      ours.on('error', () => {});
      ours.resume();
      const closed = new Promise((resolve) => theirs.once('close', resolve));
      ours.end(input);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      theirs.destroy();
      await closed;
    },
  };
}

function otlp(): FuzzTarget {
  const record = {
    timeUnixNano: '1',
    severityText: 'INFO',
    body: { stringValue: 'm' },
    attributes: [{ key: 'a', value: { intValue: '7' } }],
  };
  const request = { resourceLogs: [{ resource: { attributes: [] }, scopeLogs: [{ logRecords: [record] }] }] };
  return {
    name: 'otlp',
    structured: fc.oneof(otlpRequest, protobufMessage),
    goods: [
      Buffer.from(JSON.stringify(request)),
      Buffer.from('0a150a001211120f0a0d08012a090a076d657373616765', 'hex'),
    ],
    run: (input) => {
      const isJson = input[0] === 0x7b;
      readOtlpJson(isJson ? JSON.parse(input.toString()) : otlpProtobufToJson(input), 1000);
    },
    // Both are caught where the request is read (log-intake.ts).
    mayThrow: (thrown) => ofJson(thrown) || thrown.message === 'premature EOF',
  };
}

function smbios(): FuzzTarget {
  const system = Buffer.alloc(27);
  system.set([1, 27, 0, 1, 1, 2, 3, 4]);
  const memory = Buffer.alloc(40);
  memory.set([17, 40, 0, 17]);
  const end = Buffer.from([127, 4, 0, 127, 0, 0]);
  return {
    name: 'smbios',
    structured: smbiosTable,
    goods: [
      Buffer.concat([
        system,
        Buffer.from('Maker\0Model\0v1\0SERIAL1\0\0'),
        memory,
        Buffer.from('DIMM0\0\0'),
        end,
      ]),
    ],
    run: (input) => {
      for (const structure of parseSmbiosTable(input)) {
        parseSystemInformation(structure, { major: 3, minor: 4 });
        parseMemoryDevice(structure);
      }
    },
  };
}

function fileSystem(
  name: string,
  reader: FreeSpaceReader,
  image: Buffer,
  structures: readonly Structure[],
): FuzzTarget {
  return {
    name,
    goods: [image],
    structures: () => structures,
    run: (input) => reader(new PartitionReader(readAt(input), 0, input.length)),
    // A number that leads out of its block: find-unused.ts takes it for a reason to keep the file system whole.
    mayThrow: (thrown) => thrown instanceof RangeError,
  };
}

async function decoders(): Promise<FuzzTarget[]> {
  const plain = Buffer.from('some words, some words, '.repeat(40));
  // A node gives the dictionary half of its memory at most; here, of 64 MB.
  const crew = new Crew((block) => planThreads(block, { cores: 1, memory: 64 * 2 ** 20 }));
  const threads = await startBlockThreads();
  const compressed = (program: string, ...args: string[]) =>
    execFileSync(program, ['-c', ...args], { input: plain });
  return [
    {
      name: 'xz',
      goods: [compressed('xz'), compressed('xz', '--check=none', '--x86', '--lzma2=dict=64KiB')],
      structures: xzStructures,
      run: (input) => decodeAndDrop((from, to) => decodeXzFile(crew, from, to), input),
      isSlow: true,
      stop: () => crew.stop(),
    },
    {
      name: 'bz2',
      goods: [compressed('bzip2'), compressed('bzip2', '-1')],
      structures: bz2Structures,
      run: (input) => decodeAndDrop((from, to) => decodeBz2File(threads, from, to), input),
      isSlow: true,
      stop: () => Promise.all(threads.map((thread) => thread.stop())),
    },
  ];
}

/** Everything that reads what others sent. The programs that make the good inputs are Debian's. */
export async function fuzzTargets(): Promise<FuzzTarget[]> {
  const MB = 2 ** 20;
  const gpt = made(4 * MB, 'sgdisk', '-n', '1:2048:4095', '-n', '2:4096:0', 'FILE');
  const ext4 = made(2 * MB, 'mkfs.ext4', '-q', '-F', 'FILE');
  const fat = made(MB, 'mkfs.vfat', 'FILE');
  const xfs = withSmallLog(made(300 * MB, 'mkfs.xfs', '-q', '-f', 'FILE'));
  const btrfs = made(110 * MB, 'mkfs.btrfs', '-q', '-f', '-m', 'single', 'FILE');
  const archive = encodeCpio([
    { path: 'etc/emf/env_config', mode: 0o644, type: 'file', contents: Buffer.from('A=b\n') },
  ]);
  return [
    dhcp(),
    {
      name: 'tftp',
      structured: tftpPacket,
      goods: [
        Buffer.from('\0\x01ipxe.efi\0octet\0blksize\x001468\0tsize\x000\0windowsize\x008\0'),
        Buffer.from([0, 4, 0, 1]),
        Buffer.from('\0\x05\0\x01gone\0'),
      ],
      run: decodeTftpPacket,
    },
    protobuf(),
    http(),
    otlp(),
    {
      name: 'syslog',
      structured: syslogLine,
      goods: text(
        '<34>1 2026-11-18T08:00:00.003Z host app 123 ID47 [a@1 b="c"] hello',
        '<13>Nov 18 08:00:00 host app[12]: hello',
        '<0>x',
      ),
      run: (input) => parseSyslog(input, new Date(0)),
    },
    {
      name: 'csv',
      structured: csvFile,
      goods: text(
        'Serial,UUID,OSProfile\nABC12345,6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5,edge\n',
        'a,"b ""c""\n",d\r\n',
      ),
      run: (input) => {
        parseCsv(input.toString());
        readMachineList(input.toString());
      },
    },
    {
      name: 'discovery',
      structured: discoveryBody,
      goods: text(
        JSON.stringify({
          identity: {
            uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
            macs: ['52:54:00:12:34:56'],
            nodeId: 'x',
          },
          disks: [{ kind: 'disk', path: '/dev/sda' }],
          nics: [{ name: 'eth0' }],
        }),
      ),
      run: (input) => DiscoverySchema.safeParse(JSON.parse(input.toString())),
      mayThrow: ofJson,
    },
    {
      name: 'manifest',
      structured: imageManifest,
      goods: text(
        encodeManifest(
          {
            size: 2 ** 20,
            chunkSize: 2 ** 20,
            blobSize: 100,
            blobSha256: 'a'.repeat(64),
            rawSha256: 'b'.repeat(64),
          },
          [{ index: 0, offset: 0, length: 100, storedSha256: 'c'.repeat(64), rawSha256: 'd'.repeat(64) }],
        ),
      ),
      run: (input) => decodeManifest(input.toString()),
    },
    {
      name: 'partition table',
      structures: (image) => (image === gpt ? gptStructures(image) : []),
      goods: [gpt, made(4 * MB, 'sh', '-c', 'printf "2048\\n" | sfdisk -q -X dos FILE')],
      run: async (input) => {
        await readPartitionTable(readAt(input), input.length);
        await probeSignatures(readAt(input), input.length);
      },
    },
    smbios(),
    ...tpmEvidence(),
    {
      name: 'efi variable',
      structured: efiLoadOption,
      goods: [Buffer.from('010000002c0055006200750000000401140001000000000000000000000000007fff0400', 'hex')],
      run: (input) => {
        decodeLoadOption(input);
        decodeDevicePath(input);
      },
    },
    {
      name: 'qcow2',
      structured: qcow2File,
      goods: [made(0, 'qemu-img', 'create', '-f', 'qcow2', 'FILE', '4M')],
      run: (input) =>
        loadQcow2Map(
          (position, length) => Promise.resolve(input.subarray(position, position + length)),
          input.length,
        ),
    },
    {
      name: 'config archive',
      structured: fc.oneof(cpioArchive, signedDocument),
      goods: [
        archive,
        ...text(JSON.stringify({ payload: 'e30=', signatures: [{ key: 'k', signature: 's' }] })),
      ],
      run: (input) => {
        openDocument('d', input.toString(), ['k']);
        decodeCpio(input);
      },
    },
    fileSystem('ext4', readExt4, ext4, ext4Structures()),
    fileSystem('fat', readFat, fat, fatStructures()),
    fileSystem('xfs', readXfs, xfs, xfsStructures(xfs)),
    fileSystem('btrfs', readBtrfs, btrfs, btrfsStructures(btrfs)),
    ...(await decoders()),
  ];
}
