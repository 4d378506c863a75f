import type { Database } from './database.ts';

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

/** Lines that are kept of one node: some dozen provisionings. Of a machine nobody registered: that it knocked, and why in vain. */
export const KEPT_LINES = { registered: 20_000, unregistered: 2000 } as const;
const PRUNED_EVERY_LINES = 1000;

/** What nodes logged, in order, each line once. */
export class LogTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores the lines that are new and returns them; lines that came before are skipped. */
  append(hostId: string, lines: readonly LogLine[], kept: number): LogLine[] {
    return this.#database.transaction(() => {
      const fresh = lines.filter(
        (line) =>
          this.#database.run(
            'INSERT OR IGNORE INTO log_lines (host_id, stream, sequence, time, level, message, fields) VALUES (?, ?, ?, ?, ?, ?, ?)',
            hostId,
            line.stream,
            line.sequence,
            line.time,
            line.level,
            line.message,
            line.fields ? JSON.stringify(line.fields) : null,
          ) > 0,
      );
      const isDue = (fresh.at(-1)?.sequence ?? 0) % PRUNED_EVERY_LINES < fresh.length;
      if (isDue) this.#prune(hostId, kept);
      return fresh;
    }, 'buffered');
  }

  /** The newest `limit` lines, oldest first. */
  tail(hostId: string, limit: number): LogLine[] {
    return this.#database
      .all<Row>(
        'SELECT stream, sequence, time, level, message, fields FROM log_lines WHERE host_id = ? ORDER BY time DESC, stream DESC, sequence DESC LIMIT ?',
        hostId,
        limit,
      )
      .reverse()
      .map(({ fields, ...line }) => ({ ...line, ...(fields ? { fields: JSON.parse(fields) } : {}) }));
  }

  #prune(hostId: string, kept: number): void {
    this.#database.run(
      'DELETE FROM log_lines WHERE host_id = ? AND time < (SELECT time FROM log_lines WHERE host_id = ? ORDER BY time DESC LIMIT 1 OFFSET ?)',
      hostId,
      hostId,
      kept,
    );
  }
}
