/** One event of a server (HTML standard, 9.2 "Server-sent events"). */
export interface ServerEvent {
  /** The last id that was named so far, by this event or an earlier one. */
  id: string;
  type: string;
  data: string;
}

/**
 * Takes the stream apart as the HTML standard says (9.2.6): lines that end with CR, LF or both, comments, data of several
 * lines, ids that last until the next one. An event that the end of the stream cuts in two never happened.
 */
export class EventStreamParser {
  /** For the header Last-Event-ID of the next connection. */
  lastId: string;
  /** What the server wants to be waited before it is asked again. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder(); // takes off a byte order mark, and keeps half a character for the next piece
  #rest = '';
  #id: string;
  #type = '';
  #data: string[] = [];

  constructor(lastId = '') {
    this.lastId = lastId;
    this.#id = lastId;
  }

  push(bytes: Uint8Array): ServerEvent[] {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CR LF.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#takeLine(line) ?? []);
  }

  #takeLine(line: string): ServerEvent | undefined {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') this.#type = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const { length } = this.#data;
    const event = { id: this.#id, type: this.#type || 'message', data: this.#data.join('\n') };
    this.lastId = this.#id;
    this.#type = '';
    this.#data = [];
    return length === 0 ? undefined : event;
  }
}
