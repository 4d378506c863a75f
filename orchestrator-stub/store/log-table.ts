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

const KEPT_LINES_PER_HOST = 100_000;

/** What nodes logged, in order, each line once. */
export class LogTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores the lines that are new and returns them; lines that came before are skipped. */
  append(hostId: string, lines: readonly LogLine[]): LogLine[] {
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
      if (fresh.length > 0 && (fresh.at(-1)?.sequence ?? 0) % 1000 < fresh.length) this.#prune(hostId);
      return fresh;
    });
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

  #prune(hostId: string): void {
    this.#database.run(
      'DELETE FROM log_lines WHERE host_id = ? AND time < (SELECT time FROM log_lines WHERE host_id = ? ORDER BY time DESC LIMIT 1 OFFSET ?)',
      hostId,
      hostId,
      KEPT_LINES_PER_HOST,
    );
  }
}
