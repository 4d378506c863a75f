import type { HostId, NodeId } from '../../protocol/ids.ts';
import type { RingEntry } from './ring.ts';

const SEVERITY: Record<string, { number: number; text: string }> = {
  debug: { number: 5, text: 'DEBUG' },
  info: { number: 9, text: 'INFO' },
  warn: { number: 13, text: 'WARN' },
  error: { number: 17, text: 'ERROR' },
  fatal: { number: 21, text: 'FATAL' },
};

/** Who the lines are of: a Kindling server knows its host, any other collector gets the id that the agent computed. */
export type OtlpNode = { hostId: HostId } | { nodeId: NodeId };

export interface OtlpSource {
  hostGuid: string;
  node: OtlpNode;
  /** Names one run of the agent; with the sequence number it names a line once and for all. */
  stream: string;
}

/**
 * Log lines as an OTLP/HTTP JSON request (opentelemetry-proto, logs/v1). The attributes FileType and source and the field
 * hostGuid are those EMF's fluent-bit sends, so the queries of its dashboards find our lines.
 */
export function toOtlpRequest(entries: readonly RingEntry[], source: OtlpSource): unknown {
  return {
    resourceLogs: [
      {
        resource: {
          attributes: [
            attribute('service.name', 'kindling-agent'),
            attribute('hostGuid', source.hostGuid),
            'hostId' in source.node
              ? attribute('kindling.node', source.node.hostId)
              : attribute('kindling.identity', source.node.nodeId),
            attribute('kindling.stream', source.stream),
          ],
        },
        scopeLogs: [
          { scope: { name: 'kindling' }, logRecords: entries.map((entry) => toRecord(entry, source)) },
        ],
      },
    ],
  };
}

function toRecord({ sequence, line }: RingEntry, source: OtlpSource) {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const severity = SEVERITY[String(level)] ?? { number: 0, text: String(level) };
  return {
    timeUnixNano: `${Date.parse(String(time))}000000`,
    severityNumber: severity.number,
    severityText: severity.text,
    body: { stringValue: String(msg ?? '') },
    attributes: [
      attribute('FileType', 'uOS_bootkitLogs'),
      attribute('source', 'edgenode_provisioning'),
      attribute('hostGuid', source.hostGuid),
      { key: 'kindling.sequence', value: { intValue: String(sequence) } },
      ...Object.entries(fields).map(([key, value]) => attribute(key, value)),
    ],
  };
}

function attribute(key: string, value: unknown) {
  if (typeof value === 'number' && Number.isInteger(value))
    return { key, value: { intValue: String(value) } };
  if (typeof value === 'number') return { key, value: { doubleValue: value } };
  if (typeof value === 'boolean') return { key, value: { boolValue: value } };
  return { key, value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) } };
}
