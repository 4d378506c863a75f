import type { Command } from 'commander';
import type { AuditLine, AuditVerdict } from '../protocol/audit.ts';
import { KindlingError } from '../protocol/error.ts';
import { secondsOf } from './duration.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatTable } from './table.ts';

interface AuditOptions extends ConnectionOptions {
  since?: string;
  who?: string;
  node?: string;
  action?: string;
  json?: boolean;
}

const PAGE_LINES = 1000;

/** `kindling audit`: who did what. The options of the connection belong to both commands. */
export function defineAudit(command: Command): void {
  withConnection(command)
    .option('--since <time>', 'from then on: 7d, 12h, or 2026-11-18', startOf)
    .option('--who <name>', 'what this person did')
    .option('--node <node>', 'what was done to this node, by id or name')
    .option('--action <operation>', 'only this operation, for example getRecoveryKeys')
    .option('--json', 'one JSON object per line, with everything')
    .action(show);
  command
    .command('verify')
    .description('check that every line is as it was written')
    .option('--expect <line:hash>', 'a line that was written down earlier: shows that nothing was cut off')
    .action((_: unknown, verify: Command) => check(verify.optsWithGlobals()));
}

async function show(options: AuditOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const lines: AuditLine[] = [];
  for await (const line of linesOf(connection, options)) {
    if (options.json || options.output === 'json') console.log(JSON.stringify(line));
    else lines.push(line);
  }
  if (options.json || options.output === 'json') return;
  console.log(
    formatTable(lines, [
      ['LINE', ({ line }) => line],
      ['AT', ({ at }) => at],
      ['WHO', ({ who, role }) => `${who} (${role})`],
      ['FROM', ({ from }) => from],
      ['ACTION', ({ action }) => action],
      ['ON', ({ nodeName, target }) => nodeName ?? target],
      ['RESULT', ({ result }) => result],
      ['CHANGE', describeChange],
    ]),
  );
}

async function* linesOf(connection: ServerConnection, options: AuditOptions): AsyncGenerator<AuditLine> {
  const { since, who, node, action } = options;
  const asked = Object.entries({ since, who, node, action }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  for (let after = 0; ; ) {
    const query = new URLSearchParams([...asked, ['after', String(after)], ['limit', String(PAGE_LINES)]]);
    const { lines } = await connection.call<{ lines: AuditLine[] }>('GET', `/api/v1/audit?${query}`);
    yield* lines;
    if (lines.length < PAGE_LINES) return;
    after = lines.at(-1)?.line ?? after;
  }
}

async function check(options: ConnectionOptions & { expect?: string }): Promise<void> {
  const query = options.expect === undefined ? '' : `?${new URLSearchParams({ expect: options.expect })}`;
  const verdict = await new ServerConnection(options).call<AuditVerdict>(
    'GET',
    `/api/v1/audit/verify${query}`,
  );
  if (options.output === 'json') console.log(JSON.stringify(verdict));
  const { lines, head, broken } = verdict;
  if (broken) {
    throw new KindlingError(
      'KND_AUDIT_BROKEN',
      `the audit log breaks at line ${broken.line}: ${broken.reason}`,
    );
  }
  if (options.output === 'json') return;
  console.log(`${lines} lines are as they were written; write down the last one: ${lines}:${head}`);
}

function describeChange({ before = {}, after = {} }: AuditLine): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.map((name) => `${name}: ${text(before[name])} → ${text(after[name])}`).join(', ');
}

function text(value: unknown): string {
  return value === undefined ? 'none' : String(value);
}

function startOf(value: string): string {
  const date = new Date(value);
  if (/^\d{4}-/.test(value) && !Number.isNaN(date.getTime())) return date.toISOString();
  return new Date(Date.now() - secondsOf(value) * 1000).toISOString();
}
