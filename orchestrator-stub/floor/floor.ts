import { FLOOR_GROUPS, type FloorGroup, type FloorPage, type FloorSummary } from '../../protocol/floor.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { EventBus } from '../events/bus.ts';
import type { HostTable } from '../nodes/host-table.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { floorNode } from './floor-node.ts';
import type { FloorTable } from './floor-table.ts';
import { inventoryMacs } from './inventory-macs.ts';
import type { ListQuery } from './list-query.ts';
import { type StageTimes, usualSecondsLeft } from './stage-times.ts';

export interface FloorOptions {
  store: Store;
  table: FloorTable;
  times: StageTimes;
  hosts: HostTable;
  nodes: Nodes;
  workflows: Workflows;
  bus: EventBus;
  settings: () => SiteSettings;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
}

/** How often the clock is asked which nodes have become silent. */
const SWEEP_MS = 5000;
const ROWS_AT_ONCE = 50;
const HOUR_MS = 3_600_000;

/**
 * The floor: every node as one small row that lists, counts and pages are made of. A row is written in the transaction of the change
 * that it shows, so that a list never has to look at records, workflows and inventories.
 */
export class Floor {
  readonly #options: FloorOptions;
  /** The group of every node as it was committed: who watches adjusts counters by it. */
  readonly #groups = new Map<string, FloorGroup>();
  readonly #channel: Channel<{ id: HostId; group: FloorGroup | null }>;
  #sweeping: NodeJS.Timeout | undefined;

  private constructor(options: FloorOptions) {
    this.#options = options;
    this.#channel = new Channel(options.store, 'floor-group', ({ id, group }) => {
      if (group) this.#groups.set(id, group);
      else this.#groups.delete(id);
    });
    options.nodes.subscribe((hostId) => this.#refresh(hostId, { isProgress: false }));
    options.workflows.subscribe((workflow) => this.#follow(workflow));
  }

  /** Makes every row anew: what wrote them last may have been an older version. In parts, because others may be at work meanwhile. */
  static async open(options: FloorOptions): Promise<Floor> {
    const { store, hosts, table } = options;
    const floor = new Floor(options);
    const ids = (await hosts.list()).map(({ id }) => id);
    for (let start = 0; start < ids.length; start += ROWS_AT_ONCE) {
      await store.transaction(async () => {
        for (const id of ids.slice(start, start + ROWS_AT_ONCE))
          await floor.#refresh(id, { isProgress: false });
      });
    }
    await store.transaction(async () => {
      for (const { id, group } of await table.groups()) floor.#groups.set(id, group);
    });
    return floor;
  }

  start(): void {
    this.#sweeping = setInterval(() => this.sweep().catch(this.#options.onFailure), SWEEP_MS);
    this.#sweeping.unref();
  }

  stop(): void {
    clearInterval(this.#sweeping);
  }

  list(query: ListQuery): Promise<FloorPage> {
    return this.#options.table.list(query);
  }

  /** The first line of the page. */
  async summary(): Promise<FloorSummary> {
    const { table, times, bus, now } = this.#options;
    const nowMs = now().getTime();
    // Before anything is read: an event too many repeats what is known, one too few would be missed.
    const eventId = bus.lastId;
    const rows = await table.countByStatus();
    const countOf = (group: FloorGroup) =>
      rows.filter((row) => row.group === group).reduce((sum, { count }) => sum + count, 0);
    const stageTimes = await times.list();
    const left = (await table.inGroup('running')).flatMap(
      (node) => usualSecondsLeft(node, stageTimes, nowMs) ?? [],
    );
    return {
      counts: Object.fromEntries(
        FLOOR_GROUPS.map((group) => [group, countOf(group)]),
      ) as FloorSummary['counts'],
      statuses: Object.fromEntries(rows.map(({ status, count }) => [status, count])),
      secondsLeft: left.length > 0 ? Math.round(left.reduce((a, b) => Math.max(a, b))) : null,
      doneLastHour: await table.doneSince(new Date(nowMs - HOUR_MS).toISOString()),
      stageTimes,
      profiles: await table.valuesOf('profile'),
      sites: await table.valuesOf('site'),
      eventId,
    };
  }

  /** Looks again at the nodes that were to be heard of by now. */
  async sweep(): Promise<void> {
    const { store, table, now } = this.#options;
    for (const id of await table.due(now().getTime())) {
      await store.transaction(() => this.#refresh(id, { isProgress: true }), 'buffered');
    }
  }

  async #follow(workflow: StoredWorkflow): Promise<void> {
    const { definition, progress } = workflow;
    await this.#refresh(definition.hostId, { isProgress: true });
    if (progress.state !== 'SUCCESS' || definition.generation === 0) return;
    const profile = (await this.#options.hosts.instance(definition.hostId))?.profile;
    if (profile !== undefined) await this.#options.times.addWorkflow(profile, workflow);
  }

  /** Progress leaves the inventory as it is, which is large and need not be read for it. */
  async #refresh(id: HostId, { isProgress }: { isProgress: boolean }): Promise<void> {
    const { hosts, workflows, table, bus, settings, now } = this.#options;
    const was = this.#groups.get(id) ?? null;
    const host = await hosts.byId(id);
    if (!host) {
      this.#channel.tell({ id, group: null });
      bus.publish({ type: 'floor', nodeId: id, node: null, was });
      return;
    }
    const before = await table.get(id);
    const instance = await hosts.instance(id);
    const workflow = await workflows.latestOf(id);
    const known = isProgress && before ? before.macs : inventoryMacs(await this.#inventoryOf(id));
    const { firstBootMinutes } = settings();
    const projected = floorNode({ host, instance, workflow, macs: known, firstBootMinutes }, now());
    const { node } = projected;
    await table.save(projected, host.createdAt);
    if (node.group !== before?.group) this.#channel.tell({ id, group: node.group });
    if (JSON.stringify(before) === JSON.stringify(node)) return;
    bus.publish({ type: 'floor', nodeId: id, node, was });
    if (node.status !== 'running' || before?.status === 'running' || !instance?.firstBootAt) return;
    const finishedAt = workflow?.progress.finishedAt;
    if (!before || !finishedAt) return;
    const seconds = Math.round((Date.parse(instance.firstBootAt) - Date.parse(finishedAt)) / 1000);
    await this.#options.times.addFirstBoot(instance.profile, Math.max(0, seconds));
  }

  async #inventoryOf(id: HostId) {
    const { hosts } = this.#options;
    return (await hosts.inventory(id)) ?? (await hosts.claim(id));
  }
}
