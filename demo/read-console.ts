import type { News } from './stages.ts';

/** What a line of the node's console says. The markers are those of agent/console; the rest are the kernel's and cloud-init's own words. */
export function readConsoleLine(text: string): News | undefined {
  const [, kernel] = /Linux version (\S+)/.exec(text) ?? [];
  if (kernel) return { type: 'stage', id: 'kernel', detail: `Linux ${kernel}` };
  const [, cloudInit] = /Cloud-init v\. (\S+) running 'init-local'/.exec(text) ?? [];
  if (cloudInit) return { type: 'stage', id: 'first-boot', detail: `cloud-init ${cloudInit}` };
  if (/reboot: Restarting system/.test(text)) return { type: 'stage', id: 'restart', detail: '' };
  if (/Kernel panic - not syncing/.test(text)) return { type: 'notice', code: 'kernel', message: text };
  const [, kind, json] = /KINDLING-(STAGE|NOTICE|FATAL) (\{.*\})\s*$/.exec(text) ?? [];
  const facts = json === undefined ? undefined : parseFacts(json);
  if (!facts) return undefined;
  if (kind === 'NOTICE')
    return { type: 'notice', code: String(facts['code']), message: String(facts['message']) };
  if (kind === 'FATAL' || facts['stage'] === 'fatal') {
    return { type: 'fatal', message: `${facts['code']}: ${facts['message']}` };
  }
  if (facts['stage'] !== 'agent') return undefined;
  return { type: 'stage', id: 'agent', detail: facts['version'] ? `agent ${facts['version']}` : '' };
}

function parseFacts(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // a kernel message can tear a marker apart
  }
}
