/** The stages the demo shows, in the order a node goes through them. A stage counts as reached only by a real event. */
export const STAGES = [
  { id: 'power', title: 'power on' },
  { id: 'kernel', title: 'kernel' },
  { id: 'agent', title: 'Micro-OS up' },
  { id: 'identity', title: 'identity' },
  { id: 'network', title: 'network' },
  { id: 'inventory', title: 'inventory' },
  { id: 'discovered', title: 'discovered' },
] as const;

export type StageId = (typeof STAGES)[number]['id'];

export interface ReachedStage {
  id: StageId;
  /** Since power-on. */
  atMs: number;
  detail: string;
}

/** What a line of the node's console says about the way it is going. Pure. */
export type ConsoleNews =
  | { type: 'stage'; id: StageId; detail: string }
  | { type: 'notice'; code: string; message: string }
  | { type: 'fatal'; message: string };

/** The markers are those of agent/boot/console; everything else on the console is for people. */
export function readConsoleLine(text: string): ConsoleNews | undefined {
  const kernel = /Linux version (\S+)/.exec(text);
  if (kernel) return { type: 'stage', id: 'kernel', detail: `Linux ${kernel[1]}` };
  if (/Kernel panic - not syncing/.test(text)) return { type: 'fatal', message: text };
  const [, kind, json] = /KINDLING-(STAGE|NOTICE|FATAL) (\{.*\})\s*$/.exec(text) ?? [];
  const facts = json === undefined ? undefined : parseFacts(json);
  if (!facts) return undefined;
  if (kind === 'NOTICE')
    return { type: 'notice', code: String(facts['code']), message: String(facts['message']) };
  if (kind === 'FATAL' || facts['stage'] === 'fatal') {
    return { type: 'fatal', message: `${facts['code']}: ${facts['message']}` };
  }
  const stage = STAGES.find(({ id }) => id === facts['stage']);
  return stage ? { type: 'stage', id: stage.id, detail: describeFacts(stage.id, facts) } : undefined;
}

function parseFacts(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // a kernel message can tear a marker apart
  }
}

function describeFacts(id: StageId, facts: Record<string, unknown>): string {
  const has = (key: string) => (facts[key] === undefined ? [] : [String(facts[key])]);
  switch (id) {
    case 'agent':
      return has('version')
        .map((version) => `agent ${version}`)
        .join('');
    case 'identity':
      return [...has('nodeId'), ...has('serial')].join(' · ');
    case 'network':
      return [...has('interface'), ...has('address')].join(' ');
    case 'inventory':
      return [
        ...has('disks').map((count) => `${count} disk${count === '1' ? '' : 's'}`),
        ...has('nics').map((count) => `${count} NIC${count === '1' ? '' : 's'}`),
      ].join(', ');
    default:
      return '';
  }
}
