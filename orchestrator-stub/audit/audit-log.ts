import { createHash } from 'node:crypto';
import type { AuditEntry, AuditLine, AuditVerdict } from '../../protocol/audit.ts';
import { toStorable } from '../store/storable-text.ts';
import type { Store } from '../store/store.ts';

export interface AuditFilter {
  /** Only lines behind this one. */
  after: number;
  limit: number;
  since?: string | undefined;
  who?: string | undefined;
  /** Id or name. */
  node?: string | undefined;
  action?: string | undefined;
}

interface Row {
  line: number;
  document: string;
  hash: string;
}

/** What stands before the first line. */
const BEGINNING = '0'.repeat(64);
const PAGE_LINES = 1000;

/** Who did what: lines are added and never changed, and each carries the hash of all before it. */
export class AuditLog {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** In the caller's transaction, where there is one: a line that cannot be written takes the change back with it. */
  async append(entry: AuditEntry): Promise<void> {
    await this.#store.transaction(async () => {
      const last = await this.#store.get<Row>('SELECT * FROM audit ORDER BY line DESC LIMIT 1');
      const line = (last?.line ?? 0) + 1;
      const document = toStorable(JSON.stringify(entry));
      const hash = hashOf(last?.hash ?? BEGINNING, line, document);
      await this.#store.run(
        'INSERT INTO audit (line, document, hash) VALUES (?, ?, ?)',
        line,
        document,
        hash,
      );
    });
  }

  /** The oldest first. */
  async list({ after, limit, since, who, node, action }: AuditFilter): Promise<AuditLine[]> {
    const conditions: [sql: string, value: string | undefined][] = [
      ['at >= ?', since],
      ['who = ?', who],
      ['(node = ? OR node_name = ?)', node],
      ['action = ?', action],
    ];
    const asked = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
    const rows = await this.#store.all<Row>(
      `SELECT line, document, hash FROM audit WHERE line > ?${asked.map(({ sql }) => ` AND ${sql}`).join('')}
       ORDER BY line LIMIT ?`,
      after,
      ...asked.flatMap(({ sql, value }) => Array<string>(sql.split('?').length - 1).fill(value)),
      limit,
    );
    return rows.map(({ line, document, hash }) => ({ line, ...(JSON.parse(document) as AuditEntry), hash }));
  }

  /** Reads every line. `expected` is a line that somebody wrote down earlier, with its hash. */
  async verify(expected?: { line: number; hash: string }): Promise<AuditVerdict> {
    let lines = 0;
    let head = BEGINNING;
    const broken = (line: number, reason: string): AuditVerdict => ({
      lines,
      head,
      broken: { line, reason },
    });
    for (;;) {
      const rows = await this.#store.all<Row>(
        'SELECT line, document, hash FROM audit WHERE line > ? ORDER BY line LIMIT ?',
        lines,
        PAGE_LINES,
      );
      for (const row of rows) {
        if (row.line !== lines + 1) return broken(lines + 1, 'the line is missing');
        if (row.hash !== hashOf(head, row.line, row.document)) {
          return broken(row.line, 'the line, or one before it, is not as it was written');
        }
        if (row.line === expected?.line && row.hash !== expected.hash) {
          return broken(row.line, 'the line has another hash than the one that was written down');
        }
        lines = row.line;
        head = row.hash;
      }
      if (rows.length < PAGE_LINES) break;
    }
    if (expected && expected.line > lines)
      return broken(lines + 1, `lines are missing up to ${expected.line}`);
    return { lines, head, broken: null };
  }
}

function hashOf(previous: string, line: number, document: string): string {
  return createHash('sha256').update(`${previous}\n${line}\n${document}`).digest('hex');
}
