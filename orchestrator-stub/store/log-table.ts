import type { HostId } from '../../protocol/ids.ts';
import type { Store } from './store.ts';

/** One line a node sent. `stream` and `sequence` together name it once and for all: a resent line is the same line. */
export interface LogLine {
  /** One run of one writer: a boot of the agent, a log file. */
  stream: string;
  sequence: number;
  time: string;
  level: string;
  message: string;
  fields?: Record<string, unknown>;
}

interface Row extends Omit<LogLine, 'fields'> {
  fields: string | null;
}

export interface LogBudget {
  lines: number;
  bytes: number;
}

/** What is kept of one node: some dozen provisionings. Of a machine nobody registered: that it knocked, and why in vain. */
export const KEPT_LOGS = {
  registered: { lines: 20_000, bytes: 32 * 1024 * 1024 },
  unregistered: { lines: 2000, bytes: 1024 * 1024 },
} as const satisfies Record<string, LogBudget>;
/** A node's lines are pruned when this share of its budget has come since the last time. */
const PRUNED_EVERY_LINES = 1000;
const PRUNED_EVERY_PART_OF_BYTES = 4;

/** What nodes logged, in order, each line once. */
export class LogTable {
  readonly #store: Store;
  /** What has come of each host since its lines were pruned last. */
  readonly #unpruned = new Map<string, LogBudget>();
  #arrivals: number;

  private constructor(store: Store, arrivals: number) {
    this.#store = store;
    this.#arrivals = arrivals;
  }

  static async open(store: Store): Promise<LogTable> {
    const row = await store.get<{ last: number | null }>('SELECT max(arrival) AS last FROM log_lines');
    return new LogTable(store, row?.last ?? 0);
  }

  /** Stores the lines that are new and returns them; lines that came before are skipped. */
  async append(hostId: HostId, lines: readonly LogLine[], budget: LogBudget): Promise<LogLine[]> {
    return this.#store.transaction(async () => {
      const fresh: LogLine[] = [];
      for (const line of lines) if (await this.#insert(hostId, line)) fresh.push(line);
      const unpruned = this.#unpruned.get(hostId) ?? { lines: 0, bytes: 0 };
      const sum = {
        lines: unpruned.lines + fresh.length,
        bytes: unpruned.bytes + fresh.reduce((bytes, line) => bytes + bytesOf(line), 0),
      };
      const isDue = sum.lines >= PRUNED_EVERY_LINES || sum.bytes >= budget.bytes / PRUNED_EVERY_PART_OF_BYTES;
      if (isDue) await this.#prune(hostId, budget);
      if (isDue) this.#unpruned.delete(hostId);
      else this.#unpruned.set(hostId, sum);
      return fresh;
    }, 'buffered');
  }

  /** The newest `limit` lines, oldest first. */
  async tail(hostId: HostId, limit: number): Promise<LogLine[]> {
    const rows = await this.#store.all<Row>(
      'SELECT stream, sequence, time, level, message, fields FROM log_lines WHERE host_id = ? ORDER BY time DESC, stream DESC, sequence DESC LIMIT ?',
      hostId,
      limit,
    );
    return rows
      .reverse()
      .map(({ fields, ...line }) => ({ ...line, ...(fields ? { fields: JSON.parse(fields) } : {}) }));
  }

  /** A node that was deleted since its lines were taken has no log any more. */
  async #insert(hostId: HostId, line: LogLine): Promise<boolean> {
    // By the clock, because other processes add lines too; later than the one before in any case.
    this.#arrivals = Math.max(this.#arrivals + 1, Date.now() * 1000);
    const changes = await this.#store.run(
      `INSERT INTO log_lines (host_id, stream, sequence, time, level, message, fields, arrival, bytes)
       SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM hosts WHERE id = ?
       ON CONFLICT DO NOTHING`,
      line.stream,
      line.sequence,
      line.time,
      line.level,
      line.message,
      line.fields ? JSON.stringify(line.fields) : null,
      this.#arrivals,
      bytesOf(line),
      hostId,
    );
    return changes > 0;
  }

  /** Lines in excess of the budget, the first to arrive first. */
  async #prune(hostId: HostId, { lines, bytes }: LogBudget): Promise<void> {
    await this.#store.run(
      `DELETE FROM log_lines WHERE host_id = ?1 AND arrival <= (
         SELECT coalesce(max(arrival), -1) FROM (
           SELECT arrival, row_number() OVER newest AS nth, sum(bytes) OVER newest AS total
           FROM log_lines WHERE host_id = ?1 WINDOW newest AS (ORDER BY arrival DESC)
         ) AS counted WHERE nth > ?2 OR total > ?3
       )`,
      hostId,
      lines,
      bytes,
    );
  }
}

function bytesOf(line: LogLine): number {
  const fields = line.fields ? JSON.stringify(line.fields).length : 0;
  return line.stream.length + line.level.length + line.message.length + fields;
}
