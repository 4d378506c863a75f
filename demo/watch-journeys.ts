import type { Machine } from '../lab/qemu/machine.ts';
import type { StubEvent } from '../orchestrator-stub/events/bus.ts';
import { KindlingError } from '../protocol/error.ts';
import type { DemoNode } from './demo-node.ts';
import type { DemoView } from './demo-view.ts';
import type { Journey } from './journey.ts';
import type { Orchestrator } from './orchestrator.ts';
import { readConsoleLine } from './read-console.ts';
import { readStubEvent } from './read-event.ts';
import type { News, StageId } from './stages.ts';

/** How long a node may say nothing at all, on its console or to the orchestrator. Firmware and kernels are chatty; several nodes slow each other down. */
const SILENCE_PER_NODE_MS = 240_000;
/** The installed system has reported and leads the boot order: nothing can bring the Micro-OS back by itself. */
const LAST_STAGE: StageId = 'committed';

export interface Traveler {
  machine: Machine;
  journey: Journey;
}

interface Watch {
  travelers: readonly Traveler[];
  orchestrator: Orchestrator;
  view: DemoView;
  /** For people. */
  firmware: string;
  addressOf: (node: DemoNode) => string;
  signal: AbortSignal;
}

/** Follows every node until it runs. Fails when one gives up, is switched off, or falls silent. */
export async function watchJourneys(watch: Watch): Promise<void> {
  const watching = new AbortController();
  const failed = Promise.withResolvers<never>();
  const giveUp = () => failed.reject(watch.signal.reason);
  watch.signal.addEventListener('abort', giveUp, { once: true });
  const silenceMs = SILENCE_PER_NODE_MS * watch.travelers.length;
  const followers = watch.travelers.map((traveler) => new Follower(traveler, watch.view, silenceMs));
  watch.orchestrator
    .watch((event) => {
      const address = event.type === 'netboot' ? event.client : event.nodeId;
      followers
        .find(({ journey }) => isAbout(journey, address, watch.addressOf(journey.node)))
        ?.takeEvent(event);
    }, watching.signal)
    .catch((thrown: unknown) => failed.reject(thrown));
  try {
    for (const follower of followers) follower.take([{ type: 'stage', id: 'power', detail: watch.firmware }]);
    await Promise.race([failed.promise, Promise.all(followers.map(({ finished }) => finished))]);
  } finally {
    watch.signal.removeEventListener('abort', giveUp);
    watching.abort();
    for (const follower of followers) follower.stop();
  }
}

/** Firmware shows its MAC first, then its address; only the agent's node has an id. */
function isAbout({ id, node }: Journey, who: string, address: string): boolean {
  return who === id || who === address || who.toLowerCase() === node.mac;
}

/** Turns what one node's console and the orchestrator tell about it into stages of its journey. */
class Follower {
  readonly journey: Journey;
  readonly finished: Promise<void>;
  readonly #machine: Machine;
  readonly #view: DemoView;
  readonly #end = Promise.withResolvers<void>();
  readonly #deadline: NodeJS.Timeout;
  readonly #stopConsole: () => void;

  constructor({ machine, journey }: Traveler, view: DemoView, silenceMs: number) {
    this.journey = journey;
    this.finished = this.#end.promise;
    this.finished.catch(() => {}); // awaited by watchJourneys, unless another node failed first
    this.#machine = machine;
    this.#view = view;
    this.#deadline = setTimeout(() => this.#end.reject(this.#lateError(silenceMs)), silenceMs);
    this.#stopConsole = machine.console.onLine(({ text }) => {
      this.#deadline.refresh();
      view.consoleLine(journey, text);
      const news = readConsoleLine(text);
      if (news) this.take([news]);
    });
    machine.console.onEnd((reason) =>
      this.#end.reject(new KindlingError('KND_VM_ENDED', `${journey.node.name} is off: ${reason}`)),
    );
  }

  takeEvent(event: StubEvent): void {
    this.#deadline.refresh();
    if (event.type === 'log')
      for (const line of event.lines as { message?: string }[]) this.journey.noteLog(line.message ?? '');
    this.take(readStubEvent(event));
  }

  take(news: readonly News[]): void {
    for (const item of news) {
      if (item.type === 'doing') this.journey.doing = item.text;
      if (item.type === 'notice') this.#view.notice(this.journey, item.code, item.message);
      if (item.type === 'stage') this.#reach(item.id, item.detail);
      if (item.type === 'fatal')
        this.#end.reject(
          new KindlingError('KND_VM_ENDED', `${this.journey.node.name} gave up: ${item.message}`),
        );
    }
  }

  stop(): void {
    clearTimeout(this.#deadline);
    this.#stopConsole();
  }

  #reach(id: StageId, detail: string): void {
    const stage = this.journey.reach(id, detail);
    if (!stage) return;
    this.#view.reached(this.journey, stage);
    if (id === LAST_STAGE) this.#end.resolve();
  }

  #lateError(silenceMs: number): KindlingError {
    const tail = this.#machine.console.lines.slice(-25).map(({ text }) => `  | ${text}`);
    return new KindlingError(
      'KND_TIMEOUT',
      `${this.journey.node.name} said nothing for ${silenceMs / 1000} s\n${tail.join('\n')}`,
    );
  }
}
