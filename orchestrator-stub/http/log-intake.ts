import { gunzipSync } from 'node:zlib';
import { BODY_LIMIT_BYTES, parseJson, readBody } from '../../net/server/body.ts';
import { sendJson } from '../../net/server/http-server.ts';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Caller } from '../credentials/access.ts';
import type { EventBus } from '../events/bus.ts';
import { type Host, normalizeUuid } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { KEPT_LINES, type LogLine, type LogTable } from '../store/log-table.ts';
import { type OtlpRecord, otlpProtobufToJson, readOtlpJson } from './otlp.ts';

export interface LogIntakeParts {
  hosts: HostTable;
  logs: LogTable;
  bus: EventBus;
  /** Undefined when the site asks for no tokens; resolves to undefined for a call without one. */
  caller: ((authorization: string | undefined) => Promise<Caller | undefined>) | undefined;
  now: () => Date;
}

const MAX_MESSAGE_CHARACTERS = 32_768;

/**
 * OTLP/HTTP logs. The agent's lines carry the node, a stream and a sequence number, so each is kept once however often it
 * is sent. A node that is not onboarded yet has no token: it may log, about itself, until it is.
 */
export function logIntakeRoute({ hosts, logs, bus, caller, now }: LogIntakeParts): RawRoute {
  return {
    method: 'POST',
    path: '/v1/logs',
    access: 'anyone',
    answer: async ({ request, response }) => {
      const who = await caller?.(request.headers.authorization);
      const type = request.headers['content-type'] ?? '';
      const body = decompress(await readBody(request), request.headers['content-encoding']);
      const records = readRecords(body, type);
      const byHost = Map.groupBy(records, (record) => {
        const host = hostOf(record, request.headers['hostguid']);
        if (caller) requireMayLog(who, host);
        return host.id;
      });
      for (const [hostId, own] of byHost) {
        const fresh = logs.append(
          hostId,
          own.map((record, index) => toLine(record, index)),
          KEPT_LINES[hosts.byId(hostId)?.isRegistered ? 'registered' : 'unregistered'],
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

  function hostOf({ attributes }: OtlpRecord, header: string | string[] | undefined): Host {
    const nodeId = String(attributes['kindling.node'] ?? '');
    const guid = String(attributes['hostGuid'] ?? header ?? '');
    const host = hosts.byId(nodeId) ?? hosts.byUuid(normalizeUuid(guid));
    if (!host) throw new KindlingError('KND_NODE_UNKNOWN', 'these lines name no node that is known here');
    return host;
  }

  function toLine({ time, level, message, attributes }: OtlpRecord, index: number): LogLine {
    const {
      'kindling.node': _node,
      'kindling.stream': stream,
      'kindling.sequence': sequence,
      'service.name': _service,
      hostGuid: _guid,
      source: _source,
      FileType: fileType,
      ...fields
    } = attributes;
    const isOurs = typeof stream === 'string' && typeof sequence === 'number';
    return {
      // Foreign shippers number nothing: the moment of arrival orders their lines.
      stream: isOurs ? stream : String(fileType ?? 'otlp'),
      sequence: isOurs ? sequence : now().getTime() * 1000 + index,
      time,
      level,
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      ...(Object.keys(fields).length > 0 ? { fields } : {}),
    };
  }
}

function requireMayLog(who: Caller | undefined, host: Host): void {
  if (!who) {
    if (host.currentState === 'ONBOARDED') {
      throw new KindlingError('KND_API_UNAUTHENTICATED', 'a node that is onboarded logs with its token');
    }
    return;
  }
  if (who.kind === 'node' && who.hostId !== host.id) {
    throw new KindlingError('KND_API_FORBIDDEN', 'a node logs about itself only');
  }
}

function readRecords(body: Buffer, type: string): OtlpRecord[] {
  if (type.startsWith('application/json')) return readOtlpJson(parseJson(body));
  if (type.startsWith('application/x-protobuf')) {
    try {
      return readOtlpJson(otlpProtobufToJson(body));
    } catch (cause) {
      throw new KindlingError('KND_API_INVALID', 'the body is not an OTLP message', { cause });
    }
  }
  throw new KindlingError(
    'KND_API_INVALID',
    `logs come as application/json or application/x-protobuf, not «${type}»`,
  );
}

function decompress(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip')
    throw new KindlingError('KND_API_INVALID', `cannot read content-encoding ${encoding}`);
  try {
    return gunzipSync(body, { maxOutputLength: BODY_LIMIT_BYTES });
  } catch (cause) {
    throw new KindlingError('KND_API_INVALID', 'the body is not gzip, or too large unpacked', { cause });
  }
}
