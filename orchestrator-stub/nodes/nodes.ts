import { normalizeMac } from '../../formats/mac-address.ts';
import { addressNeighborhood } from '../../net/address-group.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type HostId, toHostId } from '../../protocol/ids.ts';
import type { EventBus, NodeChange } from '../events/bus.ts';
import { resourceId } from '../store/identifiers.ts';
import type { Store } from '../store/store.ts';
import type { Discovery } from './discovery.ts';
import { type Host, normalizeUuid, swapUuidFields } from './host.ts';
import type { HostTable } from './host-table.ts';
import { allowOnboarding, correctHost, newHost, type Registration, registerHost } from './registration.ts';
import { isSerial, NO_SERIAL } from './serial.ts';
import { statusLine } from './status-line.ts';
import { makeRoomForUnknown } from './unknown-machines.ts';

export interface NodesOptions {
  store: Store;
  hosts: HostTable;
  bus: EventBus;
  projectId: string;
  /** Only what EMF takes. */
  isStrict: boolean;
  now: () => Date;
  /** How many machines nobody registered are remembered. */
  maxUnknown: () => number;
}

/** New strangers of one neighborhood (a /24): all of it may boot at once, several times; afterwards one a second. */
export const NEWCOMERS = { burst: 1000, perSecond: 1, inAll: { burst: 20_000, perSecond: 100 } } as const;
/** What is kept of a machine that nobody registered; a server with fifty disks says some 50 kB. */
const STRANGER_BYTES = 64 * 1024;

/** The nodes of the site: who they are and who is let in. Every change goes through here and is told to the watchers. */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #newcomers = new RateLimit(NEWCOMERS);
  readonly #listeners: ((hostId: HostId) => Promise<void>)[] = [];

  constructor(options: NodesOptions) {
    this.#options = options;
  }

  /** Calls `listener` with every change, inside its transaction: what it writes is there with the change or not at all. */
  subscribe(listener: (hostId: HostId) => Promise<void>): void {
    this.#listeners.push(listener);
  }

  list(): Promise<Host[]> {
    return this.#options.hosts.list();
  }

  /**
   * By id, name, UUID, serial or MAC. What an operator registered comes before what a machine says of itself: a stranger that calls
   * itself like a node is not found in its place.
   */
  async find(key: string): Promise<Host> {
    const { hosts } = this.#options;
    const byId = await hosts.byId(toHostId(key));
    if (byId) return byId;
    const facts = [
      await hosts.byUuid(normalizeUuid(key)),
      await hosts.bySerial(key),
      await hosts.byMac(normalizeMac(key)),
    ].filter((host) => host !== undefined);
    const named = await hosts.named(key);
    const all = [...named, ...facts];
    const registered = [
      ...new Map(all.filter((host) => host.isRegistered).map((host) => [host.id, host])).values(),
    ];
    if (registered.length > 1) {
      const ids = registered.map(({ id }) => id);
      throw new KindlingError('KND_NODE_CONFLICT', `"${key}" is ${ids.join(' and ')}; use the id`, {
        evidence: { nodeIds: ids },
      });
    }
    const host = registered[0] ?? all[0];
    if (!host) throw new KindlingError('KND_NODE_UNKNOWN', `there is no node ${key}`);
    return host;
  }

  /**
   * A machine has shown itself, without proof. A registered node keeps its record: what was said is kept aside as a claim. Anybody else
   * gets a record of a stranger, which lets nobody in.
   */
  async discover(discovery: Discovery, address: string): Promise<Host> {
    const { hosts, now, projectId, store, maxUnknown, isStrict } = this.#options;
    const { identity } = discovery;
    const serial = identity.serial && isSerial(identity.serial, isStrict) ? identity.serial : undefined;
    return store.transaction(async () => {
      const known = await this.#match(identity.uuid, serial, identity.bootMac ?? identity.macs[0]);
      if (known?.isRegistered) {
        // Told once, with the record as it is: a stranger that repeats itself makes no further noise.
        if (!(await hosts.claim(known.id))) await this.tell(known, 'discovered');
        await hosts.saveClaim(known.id, discovery, address, now());
        return known;
      }
      if (!known) {
        if (!this.#newcomers.allows(addressNeighborhood(address))) {
          throw new KindlingError('KND_API_BUSY', 'too many new machines show themselves from this network');
        }
        await makeRoomForUnknown(hosts, maxUnknown(), now());
      }
      const host = known ?? {
        ...newHost(resourceId('host'), projectId, now()),
        uuid: identity.uuid ? normalizeUuid(identity.uuid) : null,
        serial: serial ?? null,
        mac: normalizeMac(identity.bootMac ?? identity.macs[0] ?? '') || null,
      };
      const seen = { ...host, reportedSerial: serial ?? null, lastSeenAt: now().toISOString() };
      await hosts.save(seen);
      await hosts.saveClaim(seen.id, withinBytes(discovery), address, now());
      await this.tell(seen, known?.lastSeenAt ? 'changed' : 'discovered');
      return seen;
    });
  }

  async register(registration: Registration): Promise<Host> {
    const { hosts, now, projectId, store } = this.#options;
    this.#checkSerial(registration.serial);
    return store.transaction(async () => {
      for (const other of await this.#holders(registration)) {
        if (other.isRegistered) throw conflict(other);
      }
      if (registration.isUninvited) await makeRoomForUnknown(hosts, this.#options.maxUnknown(), now());
      const candidate =
        (await this.#holders(registration))[0] ?? newHost(resourceId('host'), projectId, now());
      const host = registerHost(candidate, registration, now());
      await hosts.save(host);
      await this.tell(host, 'registered');
      return host;
    });
  }

  async correct(key: string, change: Parameters<typeof correctHost>[1]): Promise<Host> {
    const { hosts, now, store } = this.#options;
    this.#checkSerial(change.serial);
    return store.transaction(async () => {
      const host = correctHost(await this.find(key), change, now());
      const holders = await this.#holders({
        uuid: host.uuid ?? undefined,
        serial: host.serial ?? undefined,
        mac: host.mac ?? undefined,
      });
      for (const other of holders.filter(({ id }) => id !== host.id)) {
        if (other.isRegistered) throw conflict(other);
        // The machine that was discovered under these details is this one after all.
        await hosts.moveClaim(other.id, host.id);
        await hosts.delete(other.id);
        await hosts.save(host);
        await this.tell(other, 'deleted');
      }
      await hosts.save(host);
      await this.tell(host, 'changed');
      return host;
    });
  }

  onboard(key: string): Promise<Host> {
    return this.change(key, allowOnboarding);
  }

  /** Forgets the record. What the node still holds is taken from it before (provisioning/revocation.ts). */
  async remove(host: Host): Promise<void> {
    await this.#options.store.transaction(async () => {
      await this.#options.hosts.delete(host.id);
      await this.tell({ ...host, desiredState: 'DELETED' }, 'deleted');
    });
  }

  /** Changes one host in a transaction and tells the watchers. */
  async change(key: string, decide: (host: Host) => Host, what: NodeChange = 'changed'): Promise<Host> {
    return this.#options.store.transaction(async () => {
      const before = await this.find(key);
      const after = decide(before);
      if (after !== before) {
        await this.#options.hosts.save(after);
        await this.tell(after, what);
      }
      return after;
    });
  }

  /** The watchers hear of it after COMMIT (events/bus.ts). */
  async tell(host: Host, change: NodeChange): Promise<void> {
    const instance = await this.#options.hosts.instance(host.id);
    for (const listener of this.#listeners) await listener(host.id);
    this.#options.bus.publish({ type: 'node', nodeId: host.id, change, status: statusLine(host, instance) });
  }

  /** A strict server takes what EMF takes; the schema lets more pass. */
  #checkSerial(serial: string | null | undefined): void {
    if (!serial || isSerial(serial, this.#options.isStrict)) return;
    throw new KindlingError(
      'KND_NODE_INVALID',
      `"${serial}" is no serial number: with --strict it has 5 to 20 letters and digits`,
    );
  }

  async #match(
    uuid: string | undefined,
    serial: string | undefined,
    mac: string | undefined,
  ): Promise<Host | undefined> {
    const { hosts } = this.#options;
    const wanted = uuid ? normalizeUuid(uuid) : undefined;
    return (
      (wanted && ((await hosts.byUuid(wanted)) ?? (await hosts.byUuid(swapUuidFields(wanted))))) ||
      (serial && serial !== NO_SERIAL && (await hosts.bySerial(serial))) ||
      (mac && (await hosts.byMac(normalizeMac(mac)))) ||
      undefined
    );
  }

  /** Everyone who already holds one of these details, best evidence first. */
  async #holders({ uuid, serial, mac }: Pick<Registration, 'uuid' | 'serial' | 'mac'>): Promise<Host[]> {
    const { hosts } = this.#options;
    return [
      uuid ? await hosts.byUuid(normalizeUuid(uuid)) : undefined,
      serial && serial !== NO_SERIAL ? await hosts.bySerial(serial) : undefined,
      mac ? await hosts.byMac(normalizeMac(mac)) : undefined,
    ].filter((host) => host !== undefined);
  }
}

/** Of more than anybody would read only what tells the machine is kept. */
function withinBytes(discovery: Discovery): Discovery {
  if (JSON.stringify(discovery).length <= STRANGER_BYTES) return discovery;
  const { uuid, serial, macs, bootMac, nodeId } = discovery.identity;
  const identity = {
    macs: macs.slice(0, 16),
    nodeId,
    ...(uuid === undefined ? {} : { uuid }),
    ...(serial === undefined ? {} : { serial }),
    ...(bootMac === undefined ? {} : { bootMac }),
  };
  return { identity };
}

function conflict(other: Host): KindlingError {
  return new KindlingError(
    'KND_NODE_CONFLICT',
    `${other.name} (${other.id}) is already registered with these details`,
    {
      evidence: { nodeId: other.id, uuid: other.uuid, serial: other.serial, mac: other.mac },
    },
  );
}
