import type { FloorChange } from '../../protocol/floor.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { ImportEvent } from '../../protocol/imports.ts';
import { Channel, type Messenger } from '../store/messages.ts';

/** What the orchestrator tells its watchers: the CLI, the web page, tests. */
export type StubEvent =
  | { type: 'node'; nodeId: HostId; change: NodeChange; status: string }
  | {
      type: 'workflow';
      nodeId: HostId;
      workflowId: string;
      state: string;
      action: string;
      index: number;
      total: number;
      actionState: string;
      message: string;
      /** The action before this one, once it has succeeded. */
      finished: { action: string; seconds: number; message: string } | null;
    }
  | { type: 'log'; nodeId: HostId; lines: unknown[] }
  | FloorChange
  | ImportEvent
  | NetbootEvent;

/** A machine that boots over the network was given something. It says no more of itself yet than where it is. */
export interface NetbootEvent {
  type: 'netboot';
  /** Always empty: who the machine is comes out only when its agent runs. */
  nodeId: '';
  step: 'dhcp' | 'tftp' | 'http' | 'https';
  /** A MAC address for DHCP, an IP address otherwise. */
  client: string;
  /** What was offered, or the file that was sent. */
  what: string;
  bytes: number;
}

export type NodeChange =
  | 'discovered'
  | 'registered'
  | 'changed'
  | 'onboarded'
  | 'provisioned'
  | 'running'
  | 'committed'
  | 'fallback'
  | 'deleted';

export interface NumberedEvent {
  id: number;
  at: string;
  event: StubEvent;
}

type Listener = (event: NumberedEvent) => void;

/** Some seconds of a thousand nodes at work, some hours of fifty. */
const KEPT_EVENTS = 5000;
/** What is kept may come from anybody: many large events must not fill the memory. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/**
 * Passes events on, those of other processes too, and keeps the last ones so that a watcher that reconnects, here or elsewhere,
 * misses nothing. Nobody hears of a change before it is committed: an event of an open transaction waits for its COMMIT and goes with
 * its ROLLBACK.
 */
export class EventBus {
  readonly #messenger: Messenger;
  readonly #channel: Channel<Omit<NumberedEvent, 'id'>>;
  readonly #listeners = new Set<Listener>();
  readonly #kept: { numbered: NumberedEvent; characters: number }[] = [];
  #keptCharacters = 0;
  /** No event up to this one is kept. */
  #forgottenId: number;

  constructor(messenger: Messenger) {
    this.#messenger = messenger;
    this.#forgottenId = messenger.lastId;
    this.#channel = new Channel(messenger, 'event', (body, { id }) => this.#pass({ id, ...body }));
  }

  /** Finds the events that other processes have told of before this one was started. */
  async recall(): Promise<void> {
    const { messages, forgottenId } = await this.#messenger.recall<Omit<NumberedEvent, 'id'>>(
      'event',
      KEPT_EVENTS,
    );
    this.#forgottenId = forgottenId;
    for (const { id, body } of messages) if (id <= this.lastId) this.#keep({ id, ...body });
  }

  /** The id that a watcher starts from that has seen nothing yet. */
  get lastId(): number {
    return this.#messenger.lastId;
  }

  /** Whether there was something after this id that is no longer kept: who was away for so long looks at everything again. */
  hasForgotten(lastId: number): boolean {
    return lastId < this.#forgottenId || lastId > this.lastId;
  }

  get watchers(): number {
    return this.#listeners.size;
  }

  publish(event: StubEvent): void {
    this.#channel.tell({ at: new Date().toISOString(), event });
  }

  /** Events after `lastId` that are still kept, then every new one. Returns the way to stop. */
  subscribe(listener: Listener, lastId?: number): () => void {
    if (lastId !== undefined) {
      for (const { numbered } of this.#kept) if (numbered.id > lastId) listener(numbered);
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #pass(numbered: NumberedEvent): void {
    this.#keep(numbered);
    for (const listener of this.#listeners) listener(numbered);
  }

  #keep(numbered: NumberedEvent): void {
    const characters = JSON.stringify(numbered.event).length;
    this.#kept.push({ numbered, characters });
    this.#keptCharacters += characters;
    while (this.#kept.length > KEPT_EVENTS || this.#keptCharacters > KEPT_CHARACTERS) {
      const oldest = this.#kept.shift();
      if (!oldest) return;
      this.#keptCharacters -= oldest.characters;
      this.#forgottenId = oldest.numbered.id;
    }
  }
}
