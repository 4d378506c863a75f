import pg from 'pg';
import { KindlingError } from '../../../protocol/error.ts';
import { Listeners } from '../listeners.ts';
import type { Heard, Message, Topic } from '../messages.ts';
import { toStorable } from '../storable-text.ts';

/** A row of kindling_outbox; of the row that is known already only the id is read. */
export interface OutboxRow {
  id: number;
  topic: Topic;
  body: string | null;
}

/** How long messages are kept: a process that was cut off for longer has to be started again. */
const KEPT = '15 minutes';

/** The newest row stays: it says how far the ids are. */
export const FORGET_OLD_MESSAGES = `DELETE FROM kindling_outbox
  WHERE at < now() - interval '${KEPT}' AND id < (SELECT max(id) FROM kindling_outbox)`;

/**
 * What processes on one database tell each other, as rows. One transaction at a time writes (it holds the lock of writers), and gives its
 * messages the numbers after those that it found. So rows appear in the order of their numbers, without a gap, and a
 * reader that sees one sees all before it.
 */
export class Outbox {
  readonly #listeners: Listeners;
  #lastId: number | undefined;

  constructor(onDefect: (thrown: unknown) => void) {
    this.#listeners = new Listeners(onDefect);
  }

  get lastId(): number {
    return this.#lastId ?? 0;
  }

  hear(topic: Topic, listener: (body: unknown, heard: Heard) => void): void {
    this.#listeners.add(topic, listener);
  }

  /** Asks for the message that was heard last, and all after it. In the beginning for the newest. */
  newerThanHeard(): { text: string; after: number | undefined } {
    const after = this.#lastId;
    const start = after ?? '(SELECT max(id) FROM kindling_outbox)';
    return {
      text: `SELECT id, topic, CASE WHEN id > ${start} THEN body END AS body FROM kindling_outbox WHERE id >= ${start} ORDER BY id`,
      after,
    };
  }

  /** Passes on what is new among the rows that were found. They may have been read a while ago. */
  found(rows: readonly OutboxRow[], after: number | undefined): void {
    const first = rows[0]?.id;
    if (first === undefined || (after !== undefined && first !== after)) throw behind();
    this.#lastId ??= first;
    for (const { id, topic, body } of rows) {
      if (id <= this.#lastId || body === null) continue;
      this.#lastId = id;
      this.#listeners.pass({ topic, body: JSON.parse(body) }, { id, isOwn: false });
    }
  }

  /** Writes messages, in the transaction that has the lock of writers and has heard all before it; wakes the others at its COMMIT. */
  insertion(messages: readonly Message[]): string {
    const rows = messages.map(({ topic, body }, index) => {
      const text = pg.escapeLiteral(toStorable(JSON.stringify(body)));
      return `(${this.lastId + 1 + index}, '${topic}', ${text})`;
    });
    return `INSERT INTO kindling_outbox (id, topic, body) VALUES ${rows.join(', ')}; NOTIFY kindling_outbox`;
  }

  /** The messages of a transaction of this process, which is committed. */
  committed(messages: readonly Message[]): void {
    for (const message of messages) {
      const id = this.lastId + 1;
      this.#lastId = id;
      this.#listeners.pass(message, { id, isOwn: true });
    }
  }
}

function behind(): KindlingError {
  return new KindlingError(
    'KND_STATE_BEHIND',
    'this orchestrator was cut off from the database for longer than messages are kept, or the database was replaced',
  );
}
