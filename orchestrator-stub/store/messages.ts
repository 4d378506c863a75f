/** What is told: each topic has one channel, which says what its messages consist of. */
export type Topic =
  | 'advance'
  | 'approval'
  | 'attributes'
  | 'client'
  | 'event'
  | 'floor-group'
  | 'people'
  | 'settings'
  | 'status-shown'
  | 'token-used'
  | 'workflow';

export interface Message {
  topic: Topic;
  /** As JSON keeps it: other processes get it as text. */
  body: unknown;
}

export interface Heard {
  /** Grows with every message of the site. A process that hears a message has heard all before it. */
  id: number;
  /** This process told it, and knows that its transaction is committed. */
  isOwn: boolean;
}

/** Messages of the past, oldest first. */
export interface Recalled<Body> {
  messages: { id: number; body: Body }[];
  /** The last message that may be missing from them. */
  forgottenId: number;
}

/** The part of the store that processes on one database hear each other by. */
export interface Messenger {
  /** The message that was heard last. */
  readonly lastId: number;
  /**
   * Tells every process, this one included, once the open transaction is committed; never if it is rolled back. Where none is
   * open the message is its own transaction, and what is lost with a process that dies is only the message.
   */
  tell(message: Message): void;
  /** Calls `listener` with the messages of a topic in the order of their commits. */
  hear(topic: Topic, listener: (body: unknown, heard: Heard) => void): void;
  /** The newest messages of a topic that are still kept. */
  recall<Body>(topic: Topic, count: number): Promise<Recalled<Body>>;
}

/** Both ends of a topic. What a process holds in memory follows from what it hears here, in whichever process it was changed. */
export class Channel<Body> {
  readonly #messenger: Messenger;
  readonly #topic: Topic;

  constructor(messenger: Messenger, topic: Topic, listener: (body: Body, heard: Heard) => void) {
    this.#messenger = messenger;
    this.#topic = topic;
    messenger.hear(topic, (body, heard) => listener(body as Body, heard));
  }

  tell(body: Body): void {
    this.#messenger.tell({ topic: this.#topic, body });
  }
}
