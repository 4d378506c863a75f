import type { Sample } from '../../formats/prometheus.ts';
import type { Answered } from '../../net/server/http-server.ts';

/** Upper bounds in seconds. A held call or a stream of events is longer than any of them. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

interface Figures {
  /** How many answers took at most as long as each bucket says. */
  within: number[];
  count: number;
  sum: number;
}

/**
 * How many requests were answered, with what, and how long it took, since the server started. Routes stand for addresses, so
 * that ids in them make no new series.
 */
export class RequestFigures {
  readonly #counts = new Map<string, { labels: Record<string, string>; count: number }>();
  readonly #times = new Map<string, Figures>();

  add({ method, route = 'none', status, seconds }: Answered): void {
    const labels = { method, route, status: String(status) };
    const key = Object.values(labels).join(' ');
    const counted = this.#counts.get(key) ?? { labels, count: 0 };
    this.#counts.set(key, { labels, count: counted.count + 1 });
    const times = this.#times.get(route) ?? { within: BUCKETS.map(() => 0), count: 0, sum: 0 };
    for (const [index, bound] of BUCKETS.entries()) {
      if (seconds <= bound) times.within[index] = (times.within[index] ?? 0) + 1;
    }
    times.count += 1;
    times.sum += seconds;
    this.#times.set(route, times);
  }

  counts(name: string): Sample[] {
    return [...this.#counts.values()].map(({ labels, count }) => ({ name, labels, value: count }));
  }

  times(name: string): Sample[] {
    return [...this.#times].flatMap(([route, { within, count, sum }]) => [
      ...BUCKETS.map((bound, index) => ({
        name: `${name}_bucket`,
        labels: { route, le: String(bound) },
        value: within[index] ?? 0,
      })),
      { name: `${name}_bucket`, labels: { route, le: '+Inf' }, value: count },
      { name: `${name}_sum`, labels: { route }, value: sum },
      { name: `${name}_count`, labels: { route }, value: count },
    ]);
  }
}
