import type { Identity } from '../../protocol/identity.ts';

/** The identity for people, with what was rejected and why. */
export function describeIdentity(identity: Identity): string {
  const { nodeId, uuid, serial, manufacturer, product, macs, bootMac, evidence } = identity;
  const basis = evidence[0];
  const rows: [string, string | undefined][] = [
    ['node', `${nodeId} (from ${basis?.field ?? 'nothing'}: ${basis?.reason ?? ''})`],
    ['machine', [manufacturer, product].filter(Boolean).join(' ') || undefined],
    ['uuid', uuid],
    ['serial', serial],
    ['macs', macs.map((mac) => (mac === bootMac ? `${mac} [booted from]` : mac)).join(', ') || undefined],
    ['rejected', rejectedFacts(identity).join('; ') || undefined],
  ];
  return rows.flatMap(([name, value]) => (value ? [`${name.padEnd(10)}${value}`] : [])).join('\n');
}

/** Facts the firmware gave that identify nothing: "serial “Default string”: a placeholder of the vendor". */
export function rejectedFacts({ evidence }: Identity): string[] {
  return evidence
    .filter(({ score, value }) => score === 0 && value !== '')
    .map(({ field, value, reason }) => `${field} “${value}”: ${reason}`);
}
