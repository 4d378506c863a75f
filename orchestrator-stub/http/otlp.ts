import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { KindlingError } from '../../protocol/error.ts';

/** One log record, whatever encoding it came in. */
export interface OtlpRecord {
  /** ISO 8601. */
  time: string;
  level: string;
  message: string;
  /** Of the resource and of the record; the record's win. */
  attributes: Record<string, unknown>;
}

/** Reads an OTLP/HTTP request (opentelemetry-proto, logs/v1) in its JSON form; one with more records is refused. */
export function readOtlpJson(request: unknown, mostRecords = Number.POSITIVE_INFINITY): OtlpRecord[] {
  const records: OtlpRecord[] = [];
  for (const resourceLog of listOf(request, 'resourceLogs')) {
    const shared = attributesOf(listOf(fieldOf(resourceLog, 'resource'), 'attributes'));
    for (const scopeLog of listOf(resourceLog, 'scopeLogs')) {
      for (const record of listOf(scopeLog, 'logRecords')) {
        if (records.length >= mostRecords) {
          throw new KindlingError('KND_API_TOO_LARGE', `more than ${mostRecords} log records at once`);
        }
        const nanoseconds = fieldOf(record, 'timeUnixNano') ?? fieldOf(record, 'observedTimeUnixNano');
        records.push({
          time: timeOf(nanoseconds),
          level: levelOf(Number(fieldOf(record, 'severityNumber') ?? 0), fieldOf(record, 'severityText')),
          message: textOf(anyValue(fieldOf(record, 'body'))),
          attributes: { ...shared, ...attributesOf(listOf(record, 'attributes')) },
        });
      }
    }
  }
  return records;
}

function attributesOf(list: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    list.map((each) => [String(fieldOf(each, 'key')), anyValue(fieldOf(each, 'value'))]),
  );
}

function anyValue(value: unknown): unknown {
  for (const kind of ['stringValue', 'boolValue', 'doubleValue']) {
    const found = fieldOf(value, kind);
    if (found !== undefined) return found;
  }
  const integer = fieldOf(value, 'intValue');
  if (integer !== undefined) return Number(integer);
  return fieldOf(value, 'arrayValue') ?? fieldOf(value, 'kvlistValue') ?? fieldOf(value, 'bytesValue');
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function listOf(value: unknown, name: string): unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

function timeOf(nanoseconds: unknown): string {
  const milliseconds = Number(String(nanoseconds ?? '').slice(0, -6));
  const date = new Date(milliseconds > 0 ? milliseconds : Date.now());
  // Past the year 275,760 there is no date.
  return Number.isNaN(date.getTime()) ? new Date().toISOString() : date.toISOString();
}

/** Severity numbers come in groups of four: 1 trace, 5 debug, 9 info, 13 warn, 17 error, 21 fatal. */
function levelOf(number: number, text: unknown): string {
  const names = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
  if (number > 0) return names[Math.min(5, Math.floor((number - 1) / 4))] ?? 'info';
  return typeof text === 'string' && text ? text.toLowerCase() : 'info';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

// --- the protobuf form, field numbers of opentelemetry-proto 1.x; what fluent-bit and the Go agents send ---

/** Messages within one request: a byte or two make one, so four megabytes could hold millions. */
const MOST_MESSAGES = 100_000;

interface Budget {
  left: number;
}

/** Turns the protobuf form into the JSON form; one reader of records is enough. */
export function otlpProtobufToJson(bytes: Uint8Array): unknown {
  const budget = { left: MOST_MESSAGES };
  return { resourceLogs: fields(bytes, 1, budget).map((each) => resourceLog(each, budget)) };
}

function resourceLog(bytes: Uint8Array, budget: Budget): unknown {
  const resource = fields(bytes, 1, budget)[0] ?? new Uint8Array();
  return {
    resource: { attributes: fields(resource, 1, budget).map((each) => keyValue(each, budget)) },
    scopeLogs: fields(bytes, 2, budget).map((scope) => ({
      logRecords: fields(scope, 2, budget).map((each) => logRecord(each, budget)),
    })),
  };
}

function logRecord(bytes: Uint8Array, budget: Budget): unknown {
  const record: Record<string, unknown> = {
    attributes: fields(bytes, 6, budget).map((each) => keyValue(each, budget)),
  };
  walk(bytes, (field, wireType, reader) => {
    if (field === 1 && wireType === WireType.Bit64) record['timeUnixNano'] = String(reader.fixed64());
    else if (field === 11 && wireType === WireType.Bit64)
      record['observedTimeUnixNano'] = String(reader.fixed64());
    else if (field === 2 && wireType === WireType.Varint) record['severityNumber'] = reader.int32();
    else if (field === 3 && wireType === WireType.LengthDelimited) record['severityText'] = reader.string();
    else if (field === 5 && wireType === WireType.LengthDelimited)
      record['body'] = any(reader.bytes(), budget);
    else return false;
    return true;
  });
  return record;
}

function keyValue(bytes: Uint8Array, budget: Budget): unknown {
  const entry: Record<string, unknown> = {};
  walk(bytes, (field, wireType, reader) => {
    if (wireType !== WireType.LengthDelimited || field > 2) return false;
    if (field === 1) entry['key'] = reader.string();
    else entry['value'] = any(reader.bytes(), budget);
    return true;
  });
  return entry;
}

function any(bytes: Uint8Array, budget: Budget): unknown {
  const value: Record<string, unknown> = {};
  walk(bytes, (field, wireType, reader) => {
    if (field === 1 && wireType === WireType.LengthDelimited) value['stringValue'] = reader.string();
    else if (field === 2 && wireType === WireType.Varint) value['boolValue'] = reader.bool();
    else if (field === 3 && wireType === WireType.Varint) value['intValue'] = String(reader.int64());
    else if (field === 4 && wireType === WireType.Bit64) value['doubleValue'] = reader.double();
    else if (field === 5 && wireType === WireType.LengthDelimited) {
      value['arrayValue'] = { values: fields(reader.bytes(), 1, budget).map((each) => any(each, budget)) };
    } else if (field === 6 && wireType === WireType.LengthDelimited) {
      value['kvlistValue'] = {
        values: fields(reader.bytes(), 1, budget).map((each) => keyValue(each, budget)),
      };
    } else return false;
    return true;
  });
  return value;
}

/** Every length-delimited occurrence of one field. */
function fields(bytes: Uint8Array, wanted: number, budget: Budget): Uint8Array[] {
  const found: Uint8Array[] = [];
  walk(bytes, (field, wireType, reader) => {
    if (field !== wanted || wireType !== WireType.LengthDelimited) return false;
    budget.left -= 1;
    if (budget.left < 0) throw new KindlingError('KND_API_TOO_LARGE', 'the OTLP message has too many parts');
    found.push(reader.bytes());
    return true;
  });
  return found;
}

/** Goes through a message; whatever `take` does not want is skipped. */
function walk(
  bytes: Uint8Array,
  take: (field: number, wireType: WireType, reader: BinaryReader) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!take(field, wireType, reader)) reader.skip(wireType, field);
  }
}
