/** Fields that every line of a run has in common; a person does not need them repeated. */
const COMMON_FIELDS = new Set([
  'level',
  'time',
  'msg',
  'node',
  'workflow',
  'attempt',
  'kpi',
  'error',
  'hint',
]);

/** A log line for the console: "03:12:07 stream-os-image: writing image 40 %". */
export function humanLine(jsonLine: string): string {
  const fields = parse(jsonLine);
  if (!fields) return jsonLine.trimEnd();
  const time = String(fields['time'] ?? '').slice(11, 19);
  const level = fields['level'] === 'info' || fields['level'] === undefined ? '' : ` ${fields['level']}`;
  const action = typeof fields['action'] === 'string' ? ` ${fields['action']}:` : '';
  const rest = Object.entries(fields)
    .filter(([name, value]) => !COMMON_FIELDS.has(name) && name !== 'action' && typeof value !== 'object')
    .map(([name, value]) => `${name}=${String(value)}`);
  const hint = typeof fields['hint'] === 'string' ? `\n         next: ${fields['hint']}` : '';
  return `${[`${time}${level}${action}`, String(fields['msg'] ?? ''), ...rest].join(' ')}${hint}`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
