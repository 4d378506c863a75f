import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { plainAddress } from '../../net/address-group.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import { BODY_LIMIT_BYTES, parseJson, readBody } from '../../net/server/body.ts';
import { sendJson } from '../../net/server/http-server.ts';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type HostId, toHostId } from '../../protocol/ids.ts';
import type { Caller } from '../credentials/access.ts';
import type { EventBus } from '../events/bus.ts';
import { type Host, normalizeUuid } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { hasRight } from '../people/rights.ts';
import { KEPT_LOGS, type LogLine, type LogTable } from '../store/log-table.ts';
import { type OtlpRecord, otlpProtobufToJson, readOtlpJson } from './otlp.ts';

export interface LogIntakeParts {
  hosts: HostTable;
  logs: LogTable;
  bus: EventBus;
  /** Undefined when the site asks for no tokens; resolves to undefined for a call without one. */
  caller: ((authorization: string | undefined) => Promise<Caller | undefined>) | undefined;
  now: () => Date;
}

const unpack = promisify(gunzip);
/** Our agent sends 500 lines at once. */
const MAX_RECORDS = 1000;
const MAX_MESSAGE_CHARACTERS = 32_768;
const MAX_FIELDS_CHARACTERS = 16_384;
const MAX_STREAM_CHARACTERS = 200;
const MAX_LEVEL_CHARACTERS = 20;
/** A clock ahead of ours by more than this is wrong: the line gets the time of its arrival. */
const MAX_AHEAD_MS = 5 * 60_000;
/** Of callers without a token: bytes of one address, and of all. A node that boots sends some 100 kB before it has its token. */
const STRANGERS = {
  burst: 1024 * 1024,
  perSecond: 16 * 1024,
  inAll: { burst: 8 * 1024 * 1024, perSecond: 1024 * 1024 },
} as const;

/**
 * OTLP/HTTP logs. The agent's lines carry the node, a stream and a sequence number, so each is kept once however often it
 * is sent. A machine nobody registered has no token and may log all the same, within limits. About a registered node only its own
 * token logs: the agent keeps its lines until it has one.
 */
export function logIntakeRoute({ hosts, logs, bus, caller, now }: LogIntakeParts): RawRoute {
  const strangers = new RateLimit(STRANGERS);
  return {
    method: 'POST',
    path: '/v1/logs',
    access: 'anyone',
    answer: async ({ request, response }) => {
      const who = await caller?.(request.headers.authorization);
      const type = request.headers['content-type'] ?? '';
      const isStranger = caller !== undefined && !who;
      const body = isStranger ? await readStrangersBody(request) : await readNodesBody(request);
      const records = readRecords(body, type);
      const byHost = new Map<HostId, { host: Host; own: OtlpRecord[] }>();
      for (const record of records) {
        const host = await hostOf(record, request.headers['hostguid']);
        if (caller) requireMayLog(who, host);
        const entry = byHost.get(host.id) ?? { host, own: [] };
        entry.own.push(record);
        byHost.set(host.id, entry);
      }
      for (const [hostId, { host, own }] of byHost) {
        const fresh = await logs.append(
          hostId,
          own.map((record, index) => toLine(record, index)),
          KEPT_LOGS[host.isRegistered ? 'registered' : 'unregistered'],
        );
        if (fresh.length > 0) bus.publish({ type: 'log', nodeId: hostId, lines: fresh });
      }
      if (type.startsWith('application/x-protobuf')) {
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      } else {
        sendJson(response, 200, { partialSuccess: {} });
      }
    },
  };

  /** Pays for what is sent before it is unpacked, and unpacks no more than the address has left. */
  async function readStrangersBody(request: IncomingMessage): Promise<Buffer> {
    const address = plainAddress(request.socket.remoteAddress);
    const pay = (bytes: number) => {
      if (!strangers.allows(address, bytes)) throw busy();
    };
    const sent = await readBody(request, STRANGERS.burst);
    pay(sent.length);
    const room = strangers.room(address);
    const limit = Math.max(sent.length + room, 1);
    const body = await unpackBody(sent, request.headers['content-encoding'], limit);
    pay(body ? Math.max(0, body.length - sent.length) : room);
    if (body) return body;
    if (limit >= STRANGERS.burst - 1) throw tooLarge(STRANGERS.burst);
    throw busy();
  }

  async function readNodesBody(request: IncomingMessage): Promise<Buffer> {
    const sent = await readBody(request);
    const body = await unpackBody(sent, request.headers['content-encoding'], BODY_LIMIT_BYTES);
    if (!body) throw tooLarge(BODY_LIMIT_BYTES);
    return body;
  }

  async function hostOf({ attributes }: OtlpRecord, header: string | string[] | undefined): Promise<Host> {
    const hostId = toHostId(String(attributes['kindling.node'] ?? ''));
    const guid = String(attributes['hostGuid'] ?? header ?? '');
    const host = (await hosts.byId(hostId)) ?? (await hosts.byUuid(normalizeUuid(guid)));
    if (!host) throw new KindlingError('KND_NODE_UNKNOWN', 'these lines name no node that is known here');
    return host;
  }

  function toLine({ time, level, message, attributes }: OtlpRecord, index: number): LogLine {
    const {
      'kindling.node': _node,
      'kindling.identity': _identity,
      'kindling.stream': stream,
      'kindling.sequence': sequence,
      'service.name': _service,
      hostGuid: _guid,
      source: _source,
      FileType: fileType,
      ...fields
    } = attributes;
    const isOurs = typeof stream === 'string' && Number.isSafeInteger(sequence);
    const arrival = now();
    return {
      // Foreign shippers number nothing: the moment of arrival orders their lines.
      stream: (isOurs ? stream : String(fileType ?? 'otlp')).slice(0, MAX_STREAM_CHARACTERS),
      sequence: isOurs ? Number(sequence) : arrival.getTime() * 1000 + index,
      time: believableTime(time, arrival),
      level: level.slice(0, MAX_LEVEL_CHARACTERS),
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      ...boundedFields(fields),
    };
  }
}

function believableTime(time: string, arrival: Date): string {
  return Date.parse(time) > arrival.getTime() + MAX_AHEAD_MS ? arrival.toISOString() : time;
}

/** Fields that are too large as a whole are left out and named so. */
function boundedFields(fields: Record<string, unknown>): Pick<LogLine, 'fields'> {
  if (Object.keys(fields).length === 0) return {};
  const characters = JSON.stringify(fields).length;
  return { fields: characters > MAX_FIELDS_CHARACTERS ? { 'kindling.dropped': characters } : fields };
}

function requireMayLog(who: Caller | undefined, host: Host): void {
  if (!who) {
    if (host.isRegistered) {
      throw new KindlingError('KND_API_UNAUTHENTICATED', 'a registered node logs with its token');
    }
    return;
  }
  if (who.kind === 'node' && who.hostId !== host.id) {
    throw new KindlingError('KND_API_FORBIDDEN', 'a node logs about itself only');
  }
  if (who.kind === 'person' && !hasRight(who.person.role, 'nodes:stand-in')) {
    throw new KindlingError('KND_API_FORBIDDEN', `${who.person.name} may not write the log of a node`);
  }
}

function readRecords(body: Buffer, type: string): OtlpRecord[] {
  if (type.startsWith('application/json')) return readOtlpJson(parseJson(body), MAX_RECORDS);
  if (type.startsWith('application/x-protobuf')) {
    try {
      return readOtlpJson(otlpProtobufToJson(body), MAX_RECORDS);
    } catch (cause) {
      if (cause instanceof KindlingError) throw cause;
      throw new KindlingError('KND_API_INVALID', 'the body is not an OTLP message', { cause });
    }
  }
  throw new KindlingError(
    'KND_API_INVALID',
    `logs come as application/json or application/x-protobuf, not “${type}”`,
  );
}

/** Undefined: longer than `limit` when unpacked. */
async function unpackBody(
  body: Buffer,
  encoding: string | undefined,
  limit: number,
): Promise<Buffer | undefined> {
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip')
    throw new KindlingError('KND_API_INVALID', `cannot read content-encoding ${encoding}`);
  try {
    return await unpack(body, { maxOutputLength: limit });
  } catch (cause) {
    if (cause instanceof RangeError) return undefined;
    throw new KindlingError('KND_API_INVALID', 'the body is not gzip', { cause });
  }
}

function busy(): KindlingError {
  return new KindlingError('KND_API_BUSY', 'too many log lines without a token');
}

function tooLarge(limit: number): KindlingError {
  return new KindlingError('KND_API_TOO_LARGE', `the body is larger than ${limit} bytes when unpacked`);
}
