import fc, { type Arbitrary } from 'fast-check';
import { EDGES, WORDS } from './mutate.ts';

/**
 * Inputs that have the shape of the format and lie in its fields: what a byte mutator rarely makes, because a wrong length is refused
 * before the interesting part is read.
 */

/** Numbers that are mostly right where a format wants a small one, and wrong in the usual ways otherwise. */
const number32 = fc.oneof(
  { weight: 3, arbitrary: fc.nat(64) },
  { weight: 2, arbitrary: fc.constantFrom(...EDGES) },
  fc.nat(0xffff_ffff),
);
const byte = fc.oneof({ weight: 3, arbitrary: fc.nat(0xff) }, fc.constantFrom(0, 1, 0x7f, 0x80, 0xff));
const bytes = (most: number): Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength: most }).map((part) => Buffer.from(part));
/** Of all kinds, surrogates without a partner too; fast-check's own `binary` takes seconds to begin. */
const letter = fc.nat(0xffff).map((code) => String.fromCharCode(code));
const word = fc.oneof(fc.constantFrom(...WORDS, ''), fc.string({ maxLength: 12, unit: letter }));
/** Usually what it should be. */
const or = <T>(right: T, wrong: Arbitrary<T>): Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: wrong });
const joined = (parts: Arbitrary<Buffer[]>): Arbitrary<Buffer> => parts.map((all) => Buffer.concat(all));
const inText = (value: Arbitrary<string>): Arbitrary<Buffer> => value.map((text) => Buffer.from(text));

const uint = (bits: 16 | 32, endian: 'LE' | 'BE', value: number): Buffer => {
  const out = Buffer.alloc(bits / 8);
  if (endian === 'LE') out.writeUIntLE(value % 2 ** bits, 0, bits / 8);
  else out.writeUIntBE(value % 2 ** bits, 0, bits / 8);
  return out;
};

/** Options whose length may be that of another one. */
const dhcpOption = fc
  .tuple(
    fc.oneof(fc.constantFrom(0, 52, 53, 60, 61, 77, 82, 93, 94, 97, 175, 255), byte),
    bytes(24),
    byte,
    fc.nat(5),
  )
  .map(([code, data, wrong, isWrong]) =>
    Buffer.concat([Buffer.from([code, isWrong === 0 ? wrong : data.length]), data]),
  );
export const dhcpPacket: Arbitrary<Buffer> = fc
  .tuple(
    or([1, 1, 6, 0], fc.array(byte, { minLength: 4, maxLength: 4 })),
    fc.array(dhcpOption, { maxLength: 12 }),
  )
  .map(([start, options]) => {
    const packet = Buffer.alloc(240);
    packet.set(start);
    packet.set([99, 130, 83, 99], 236);
    return Buffer.concat([packet, ...options, Buffer.from([255])]);
  });

export const tftpPacket: Arbitrary<Buffer> = fc
  .tuple(
    fc.oneof(fc.constantFrom(1, 3, 4, 5, 6), fc.nat(0xffff)),
    fc.oneof(
      fc
        .array(
          fc.oneof(
            fc.constantFrom(
              'ipxe.efi',
              'octet',
              'netascii',
              'blksize',
              'tsize',
              'timeout',
              'windowsize',
              '1468',
              '0',
            ),
            word,
          ),
        )
        .map((words) => Buffer.from(words.map((each) => `${each}\0`).join(''), 'latin1')),
      bytes(40),
    ),
  )
  .map(([opcode, rest]) => Buffer.concat([uint(16, 'BE', opcode), rest]));

const varint = (value: number): Buffer => {
  const out: number[] = [];
  let rest = BigInt(Math.floor(value));
  do {
    out.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(out);
};
/** Messages inside messages, with fields that nobody knows and lengths that lie. */
export const protobufMessage: Arbitrary<Buffer> = fc.letrec<{ message: Buffer; field: Buffer }>((tie) => ({
  message: joined(fc.array(tie('field'), { maxLength: 6 })),
  field: fc.oneof(
    { depthSize: 'medium', maxDepth: 6 },
    fc
      .tuple(fc.integer({ min: 1, max: 40 }), number32)
      .map(([tag, value]) => Buffer.concat([varint(tag * 8), varint(value)])),
    fc
      .tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1, 3, 4, 5, 6, 7), bytes(9))
      .map(([tag, type, rest]) => Buffer.concat([varint(tag * 8 + type), rest])),
    fc
      .tuple(fc.integer({ min: 1, max: 20 }), fc.oneof(tie('message'), inText(word)), or(0, number32))
      .map(([tag, inner, lie]) => Buffer.concat([varint(tag * 8 + 2), varint(inner.length + lie), inner])),
  ),
})).message;

export const httpRequest: Arbitrary<Buffer> = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS', 'PRI', 'CONNECT', 'get'),
    fc.array(fc.oneof(fc.constantFrom('/v1', '/..', '/%2e%2e', '/%00', '?', '//', '/a', '#', '%'), word), {
      maxLength: 5,
    }),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9'),
    fc.array(
      fc.tuple(
        fc.oneof(
          fc.constantFrom(
            'host',
            'content-length',
            'transfer-encoding',
            'range',
            'origin',
            'expect',
            'connection',
            'upgrade',
            'authorization',
            'content-type',
            'if-none-match',
          ),
          word,
        ),
        fc.oneof(
          fc.constantFrom(
            'x',
            '3',
            '-1',
            '99999999999',
            'chunked',
            'bytes=0-',
            'bytes=-1',
            '100-continue',
            'h2c',
            'application/json',
          ),
          word,
        ),
      ),
      { maxLength: 8 },
    ),
    fc.oneof(fc.constantFrom('abc', '3\r\nabc\r\n0\r\n\r\n', 'ffffffff\r\n', '-3\r\nabc'), word),
  )
  .map(([method, path, version, headers, body]) =>
    Buffer.from(
      `${method} /${path.join('')} ${version}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
      'latin1',
    ),
  );

const json = (depth: number) => fc.jsonValue({ maxDepth: depth }) as Arbitrary<unknown>;
const attribute = fc.record({
  key: fc.oneof(word, json(1)),
  value: fc.oneof(
    fc.record({ stringValue: word }),
    fc.record({ intValue: fc.oneof(fc.constant('7'), json(1)) }),
    fc.record({ kvlistValue: json(3) }),
    fc.record({ arrayValue: json(3) }),
    json(2),
  ),
});
const logRecord = fc.oneof(
  fc.record({
    timeUnixNano: fc.oneof(fc.constantFrom('1', '-1', '9'.repeat(40), 'x'), json(1)),
    severityText: json(1),
    severityNumber: fc.oneof(number32, json(1)),
    body: fc.oneof(fc.record({ stringValue: word }), json(2)),
    attributes: fc.oneof(fc.array(attribute, { maxLength: 4 }), json(2)),
  }),
  json(1),
);
export const otlpRequest: Arbitrary<Buffer> = inText(
  fc
    .record({
      resourceLogs: fc.oneof(
        fc.array(
          fc.record({
            resource: fc.oneof(fc.record({ attributes: fc.array(attribute, { maxLength: 3 }) }), json(2)),
            scopeLogs: fc.oneof(
              fc.array(fc.record({ logRecords: fc.oneof(fc.array(logRecord, { maxLength: 4 }), json(2)) }), {
                maxLength: 2,
              }),
              json(2),
            ),
          }),
          { maxLength: 2 },
        ),
        json(2),
      ),
    })
    .map((request) => JSON.stringify(request)),
);

export const syslogLine: Arbitrary<Buffer> = inText(
  fc
    .tuple(
      fc.oneof(fc.constantFrom('<34>', '<0>', '<191>', '<999>', '<-1>', '<>', ''), word),
      fc.oneof(fc.constantFrom('1 ', '2 ', ''), word),
      fc.oneof(
        fc.constantFrom('2026-11-18T08:00:00.003Z', 'Nov 18 08:00:00', '-', '9999-99-99T99:99:99Z'),
        word,
      ),
      fc.array(fc.oneof(fc.constantFrom('host', '-', 'app', 'app[12]:', '[a@1 b="c"]', '[a b="\\"]'), word), {
        maxLength: 6,
      }),
    )
    .map(([priority, version, time, words]) => `${priority}${version}${[time, ...words].join(' ')}`),
);

export const csvFile: Arbitrary<Buffer> = inText(
  fc
    .tuple(
      fc.shuffledSubarray([
        'Serial',
        'UUID',
        'OSProfile',
        'Site',
        'Secure',
        'RemoteUser',
        'Metadata',
        'LVMSize',
        'Error',
      ]),
      fc.array(
        fc.array(
          fc.oneof(
            fc.constantFrom(
              'ABC12345',
              '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
              'true',
              '"',
              '""',
              '"a,b"',
              '"a\nb"',
              'k=v&k=w',
            ),
            word,
          ),
          { maxLength: 9 },
        ),
        { maxLength: 5 },
      ),
      fc.constantFrom('\n', '\r\n', '\r', ';'),
    )
    .map(([head, rows, end]) => [head, ...rows].map((cells) => cells.join(',')).join(end)),
);

export const discoveryBody: Arbitrary<Buffer> = inText(
  fc
    .record(
      {
        identity: fc.oneof(
          fc.record(
            {
              uuid: fc.oneof(fc.uuid(), word, json(1)),
              serial: fc.oneof(word, json(1)),
              macs: fc.oneof(fc.array(fc.oneof(fc.constant('52:54:00:12:34:56'), word)), json(1)),
              nodeId: fc.oneof(word, json(1)),
            },
            { requiredKeys: [] },
          ),
          json(2),
        ),
        disks: fc.oneof(
          fc.array(
            fc.oneof(fc.record({ kind: word, path: fc.oneof(fc.constant('/dev/sda'), word) }), json(2)),
          ),
          json(2),
        ),
        nics: fc.oneof(fc.array(fc.oneof(fc.record({ name: word }), json(2))), json(2)),
      },
      { requiredKeys: [] },
    )
    .map((body) => JSON.stringify(body)),
);

const count = fc.oneof(fc.constantFrom(0, 1, 100, 2 ** 20, 2 ** 24, 2 ** 53, -1, 0.5, 1e308), fc.nat());
const hash = fc.oneof(fc.constantFrom('a'.repeat(64), 'A'.repeat(64), ''), word);
export const imageManifest: Arbitrary<Buffer> = inText(
  fc
    .tuple(
      fc.record({
        size: or(2 ** 24, count),
        chunkSize: or(2 ** 20, count),
        blobSize: or(10_000, count),
        blobSha256: or('a'.repeat(64), hash),
        rawSha256: or('a'.repeat(64), hash),
        gpt: fc.oneof(
          fc.constant(undefined),
          fc.record({
            sectorSize: or(512, count),
            alternateLba: count,
            lastUsableLba: count,
            protectiveSectors: count,
          }),
          json(1),
        ),
      }),
      fc.array(fc.tuple(count, count, count, hash, hash), { maxLength: 6 }),
      fc.array(fc.tuple(word, word), { maxLength: 2 }),
    )
    .map(([facts, chunks, signatures]) =>
      [
        'kindling-image-manifest 1',
        JSON.stringify(facts),
        ...chunks.map((line, index) => [index, ...line.slice(1)].join(' ')),
        ...signatures.map((pair) => `signature ${pair.join(' ')}`),
        '',
      ].join('\n'),
    ),
);

const smbiosStructure = fc
  .tuple(
    fc.oneof(fc.constantFrom(0, 1, 2, 3, 4, 16, 17, 127), byte),
    bytes(60),
    or(0, byte),
    fc.array(
      fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0')),
      { maxLength: 4 },
    ),
  )
  .map(([type, body, lie, strings]) =>
    Buffer.concat([
      Buffer.from([type, (body.length + 4 + lie) & 0xff, 0, 1]),
      body,
      Buffer.from(strings.map((each) => `${each}\0`).join('') || '\0'),
      Buffer.from([0]),
    ]),
  );
export const smbiosTable: Arbitrary<Buffer> = joined(fc.array(smbiosStructure, { maxLength: 6 }));

const devicePathNode = fc
  .tuple(fc.oneof(fc.constantFrom(1, 2, 3, 4, 5, 0x7f), byte), byte, bytes(48), or(0, number32))
  .map(([type, subtype, data, lie]) =>
    Buffer.concat([Buffer.from([type, subtype]), uint(16, 'LE', data.length + 4 + lie), data]),
  );
export const efiLoadOption: Arbitrary<Buffer> = fc
  .tuple(
    number32,
    fc.string({ maxLength: 12 }),
    fc.array(devicePathNode, { maxLength: 5 }),
    or(0, number32),
    bytes(12),
  )
  .map(([attributes, name, nodes, lie, rest]) => {
    const path = Buffer.concat([...nodes, Buffer.from([0x7f, 0xff, 4, 0])]);
    const head = [
      uint(32, 'LE', attributes),
      uint(16, 'LE', path.length + lie),
      Buffer.from(`${name}\0`, 'utf16le'),
    ];
    return Buffer.concat([...head, path, rest]);
  });

const HEX = (value: number) => (value >>> 0).toString(16).padStart(8, '0');
const cpioEntry = fc
  .tuple(
    fc.constantFrom('070701', '070702', '070707'),
    fc.constantFrom(0o100644, 0o040755, 0o120777, 0o020600, 0o060600, 0),
    fc.oneof(fc.constantFrom('etc/emf/env_config', '../x', '/etc/passwd', '.', 'TRAILER!!!'), word),
    bytes(40),
    or(0, number32),
    or(0, number32),
  )
  .map(([magic, mode, name, contents, sizeLie, nameLie]) => {
    const stored = Buffer.from(`${name}\0`);
    const fields = [1, mode, 0, 0, 1, 0, contents.length + sizeLie, 0, 0, 0, 0, stored.length + nameLie, 0];
    const padded = (part: Buffer, before: number) =>
      Buffer.concat([part, Buffer.alloc((4 - ((before + part.length) % 4)) % 4)]);
    return Buffer.concat([
      padded(Buffer.concat([Buffer.from(`${magic}${fields.map(HEX).join('')}`), stored]), 0),
      padded(contents, 0),
    ]);
  });
export const cpioArchive: Arbitrary<Buffer> = joined(fc.array(cpioEntry, { maxLength: 5 }));

/** Small clusters, so that a small file can say much. */
export const qcow2File: Arbitrary<Buffer> = fc
  .record({
    version: or(3, number32),
    clusterBits: fc.oneof(fc.constant(12), fc.constant(16), number32),
    size: fc.oneof(fc.constantFrom(2 ** 22, 2 ** 30, 2 ** 52, 0), fc.nat(2 ** 32 - 1)),
    l1Size: fc.oneof(fc.nat(16), fc.constantFrom(512, 4_194_304, 0xffff_ffff)),
    l1Offset: fc.oneof(fc.constantFrom(4096, 0, 104), fc.nat(20_000)),
    incompatible: or(0, number32),
    compression: fc.nat(2),
    l1: fc.array(fc.oneof(fc.constantFrom(8192, 4096, 0, 2 ** 40), fc.nat(20_000)), { maxLength: 512 }),
    l2: fc.array(
      fc.tuple(fc.constantFrom(0n, 1n, 1n << 62n, 1n << 63n), fc.bigInt(0n, (1n << 62n) - 1n), fc.boolean()),
      { maxLength: 32 },
    ),
  })
  .map(({ version, clusterBits, size, l1Size, l1Offset, incompatible, compression, l1, l2 }) => {
    const file = Buffer.alloc(16_384);
    file.write('QFI\xfb', 'latin1');
    file.writeUInt32BE(version, 4);
    file.writeUInt32BE(clusterBits, 20);
    file.writeBigUInt64BE(BigInt(size), 24);
    file.writeUInt32BE(l1Size, 36);
    file.writeBigUInt64BE(BigInt(l1Offset), 40);
    file.writeBigUInt64BE(BigInt(incompatible), 72);
    file.writeUInt32BE(112, 100);
    file.writeUInt8(compression, 104);
    for (const [index, entry] of l1.entries()) file.writeBigUInt64BE(BigInt(entry), 4096 + index * 8);
    for (const [index, [flags, place, isNear]] of l2.entries())
      file.writeBigUInt64BE(flags | (isNear ? place % 16_384n : place), 8192 + index * 8);
    return file;
  });

const base64 = bytes(80).map((part) => part.toString('base64url'));
export const signedDocument: Arbitrary<Buffer> = inText(
  fc
    .record(
      {
        payload: fc.oneof(base64, json(1)),
        signatures: fc.oneof(
          fc.array(
            fc.oneof(
              fc.record({ key: fc.oneof(base64, json(0)), signature: fc.oneof(base64, json(0)) }),
              json(1),
            ),
            { maxLength: 4 },
          ),
          json(2),
        ),
      },
      { requiredKeys: [] },
    )
    .map((document) => JSON.stringify(document)),
);

/** Wrong numbers for the fields of a structure: where (aligned to its width), how wide, which way round. */
export interface FieldEdit {
  at: number;
  width: 1 | 2 | 4 | 8;
  isBigEndian: boolean;
  value: number;
}
export const fieldEdits: Arbitrary<FieldEdit[]> = fc.array(
  fc.record({
    at: fc.oneof(fc.nat(512), fc.nat(65_536)),
    width: fc.constantFrom(1, 2, 4, 8),
    isBigEndian: fc.boolean(),
    value: number32,
  }),
  { minLength: 1, maxLength: 4 },
);
