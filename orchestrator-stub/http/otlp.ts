import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** One log record, whatever encoding it came in. */
export interface OtlpRecord {
  /** ISO 8601. */
  time: string;
  level: string;
  message: string;
  /** Of the resource and of the record; the record's win. */
  attributes: Record<string, unknown>;
}

/** Reads an OTLP/HTTP request (opentelemetry-proto, logs/v1) in its JSON form. */
export function readOtlpJson(request: unknown): OtlpRecord[] {
  const records: OtlpRecord[] = [];
  for (const resourceLog of listOf(request, 'resourceLogs')) {
    const shared = attributesOf(listOf(fieldOf(resourceLog, 'resource'), 'attributes'));
    for (const scopeLog of listOf(resourceLog, 'scopeLogs')) {
      for (const record of listOf(scopeLog, 'logRecords')) {
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
  const date = new Date(Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : Date.now());
  return date.toISOString();
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

/** Turns the protobuf form into the JSON form; one reader of records is enough. */
export function otlpProtobufToJson(bytes: Uint8Array): unknown {
  return { resourceLogs: fields(bytes, 1).map(resourceLog) };
}

function resourceLog(bytes: Uint8Array): unknown {
  const resource = fields(bytes, 1)[0] ?? new Uint8Array();
  return {
    resource: { attributes: fields(resource, 1).map(keyValue) },
    scopeLogs: fields(bytes, 2).map((scope) => ({ logRecords: fields(scope, 2).map(logRecord) })),
  };
}

function logRecord(bytes: Uint8Array): unknown {
  const record: Record<string, unknown> = { attributes: fields(bytes, 6).map(keyValue) };
  walk(bytes, (field, wireType, reader) => {
    if (field === 1 && wireType === WireType.Bit64) record['timeUnixNano'] = String(reader.fixed64());
    else if (field === 11 && wireType === WireType.Bit64)
      record['observedTimeUnixNano'] = String(reader.fixed64());
    else if (field === 2 && wireType === WireType.Varint) record['severityNumber'] = reader.int32();
    else if (field === 3 && wireType === WireType.LengthDelimited) record['severityText'] = reader.string();
    else if (field === 5 && wireType === WireType.LengthDelimited) record['body'] = any(reader.bytes());
    else return false;
    return true;
  });
  return record;
}

function keyValue(bytes: Uint8Array): unknown {
  const entry: Record<string, unknown> = {};
  walk(bytes, (field, wireType, reader) => {
    if (wireType !== WireType.LengthDelimited || field > 2) return false;
    if (field === 1) entry['key'] = reader.string();
    else entry['value'] = any(reader.bytes());
    return true;
  });
  return entry;
}

function any(bytes: Uint8Array): unknown {
  const value: Record<string, unknown> = {};
  walk(bytes, (field, wireType, reader) => {
    if (field === 1 && wireType === WireType.LengthDelimited) value['stringValue'] = reader.string();
    else if (field === 2 && wireType === WireType.Varint) value['boolValue'] = reader.bool();
    else if (field === 3 && wireType === WireType.Varint) value['intValue'] = String(reader.int64());
    else if (field === 4 && wireType === WireType.Bit64) value['doubleValue'] = reader.double();
    else if (field === 5 && wireType === WireType.LengthDelimited) {
      value['arrayValue'] = { values: fields(reader.bytes(), 1).map(any) };
    } else if (field === 6 && wireType === WireType.LengthDelimited) {
      value['kvlistValue'] = { values: fields(reader.bytes(), 1).map(keyValue) };
    } else return false;
    return true;
  });
  return value;
}

/** Every length-delimited occurrence of one field. */
function fields(bytes: Uint8Array, wanted: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  walk(bytes, (field, wireType, reader) => {
    if (field !== wanted || wireType !== WireType.LengthDelimited) return false;
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
