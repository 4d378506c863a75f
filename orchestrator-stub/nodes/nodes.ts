import { normalizeMac } from '../../formats/mac-address.ts';
import { addressNeighborhood } from '../../net/address-group.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import { KindlingError } from '../../protocol/error.ts';
import { toHostId } from '../../protocol/ids.ts';
import type { EventBus, NodeChange } from '../events/bus.ts';
import type { Database } from '../store/database.ts';
import { resourceId } from '../store/identifiers.ts';
import type { Discovery } from './discovery.ts';
import { type Host, normalizeUuid, swapUuidFields } from './host.ts';
import type { HostTable } from './host-table.ts';
import { allowOnboarding, correctHost, newHost, type Registration, registerHost } from './registration.ts';
import { isSerial, NO_SERIAL } from './serial.ts';
import { statusLine } from './status-line.ts';
import { makeRoomForUnknown } from './unknown-machines.ts';

export interface NodesOptions {
  database: Database;
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
const NEWCOMERS = { burst: 1000, perSecond: 1, inAll: { burst: 20_000, perSecond: 100 } } as const;
/** What is kept of a machine that nobody registered; a server with fifty disks says some 50 kB. */
const STRANGER_BYTES = 64 * 1024;

/** The nodes of the site: who they are and who is let in. Every change goes through here and is told to the watchers. */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #newcomers = new RateLimit(NEWCOMERS);

  constructor(options: NodesOptions) {
    this.#options = options;
  }

  list(): Host[] {
    return this.#options.hosts.list();
  }

  /**
   * By id, name, UUID, serial or MAC. What an operator registered comes before what a machine says of itself: a stranger that calls
   * itself like a node is not found in its place.
   */
  find(key: string): Host {
    const { hosts } = this.#options;
    const byId = hosts.byId(toHostId(key));
    if (byId) return byId;
    const facts = [
      hosts.byUuid(normalizeUuid(key)),
      hosts.bySerial(key),
      hosts.byMac(normalizeMac(key)),
    ].filter((host) => host !== undefined);
    const named = hosts.list().filter(({ name }) => name === key);
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
  discover(discovery: Discovery, address: string): Host {
    const { hosts, now, projectId, database, maxUnknown, isStrict } = this.#options;
    const { identity } = discovery;
    const serial = identity.serial && isSerial(identity.serial, isStrict) ? identity.serial : undefined;
    return database.transaction(() => {
      const known = this.#match(identity.uuid, serial, identity.bootMac ?? identity.macs[0]);
      if (known?.isRegistered) {
        // Told once, with the record as it is: a stranger that repeats itself makes no further noise.
        if (!hosts.claim(known.id)) this.tell(known, 'discovered');
        hosts.saveClaim(known.id, discovery, address, now());
        return known;
      }
      if (!known) {
        if (!this.#newcomers.allows(addressNeighborhood(address))) {
          throw new KindlingError('KND_API_BUSY', 'too many new machines show themselves from this network');
        }
        makeRoomForUnknown(hosts, maxUnknown(), now());
      }
      const host = known ?? {
        ...newHost(resourceId('host'), projectId, now()),
        uuid: identity.uuid ? normalizeUuid(identity.uuid) : null,
        serial: serial ?? null,
        mac: normalizeMac(identity.bootMac ?? identity.macs[0] ?? '') || null,
      };
      const seen = { ...host, reportedSerial: serial ?? null, lastSeenAt: now().toISOString() };
      hosts.save(seen);
      hosts.saveClaim(seen.id, withinBytes(discovery), address, now());
      this.tell(seen, known?.lastSeenAt ? 'changed' : 'discovered');
      return seen;
    });
  }

  register(registration: Registration): Host {
    const { hosts, now, projectId, database } = this.#options;
    this.#checkSerial(registration.serial);
    return database.transaction(() => {
      for (const other of this.#holders(registration)) {
        if (other.isRegistered) throw conflict(other);
      }
      if (registration.isUninvited) makeRoomForUnknown(hosts, this.#options.maxUnknown(), now());
      const candidate = this.#holders(registration)[0] ?? newHost(resourceId('host'), projectId, now());
      const host = registerHost(candidate, registration, now());
      hosts.save(host);
      this.tell(host, 'registered');
      return host;
    });
  }

  correct(key: string, change: Parameters<typeof correctHost>[1]): Host {
    const { hosts, now, database } = this.#options;
    this.#checkSerial(change.serial);
    return database.transaction(() => {
      const host = correctHost(this.find(key), change, now());
      const others = this.#holders({
        uuid: host.uuid ?? undefined,
        serial: host.serial ?? undefined,
        mac: host.mac ?? undefined,
      }).filter(({ id }) => id !== host.id);
      for (const other of others) {
        if (other.isRegistered) throw conflict(other);
        // The machine that was discovered under these details is this one after all.
        hosts.moveClaim(other.id, host.id);
        hosts.delete(other.id);
        hosts.save(host);
        this.tell(other, 'deleted');
      }
      hosts.save(host);
      this.tell(host, 'changed');
      return host;
    });
  }

  onboard(key: string): Host {
    return this.change(key, allowOnboarding);
  }

  /** Forgets the record. What the node still holds is taken from it before (provisioning/revocation.ts). */
  remove(host: Host): void {
    this.#options.database.transaction(() => {
      this.#options.hosts.delete(host.id);
      this.tell({ ...host, desiredState: 'DELETED' }, 'deleted');
    });
  }

  /** Changes one host in a transaction and tells the watchers. */
  change(key: string, decide: (host: Host) => Host, what: NodeChange = 'changed'): Host {
    return this.#options.database.transaction(() => {
      const before = this.find(key);
      const after = decide(before);
      if (after !== before) {
        this.#options.hosts.save(after);
        this.tell(after, what);
      }
      return after;
    });
  }

  /** The watchers hear of it after COMMIT (events/bus.ts). */
  tell(host: Host, change: NodeChange): void {
    const instance = this.#options.hosts.instance(host.id);
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

  #match(uuid: string | undefined, serial: string | undefined, mac: string | undefined): Host | undefined {
    const { hosts } = this.#options;
    const wanted = uuid ? normalizeUuid(uuid) : undefined;
    return (
      (wanted && (hosts.byUuid(wanted) ?? hosts.byUuid(swapUuidFields(wanted)))) ||
      (serial && serial !== NO_SERIAL && hosts.bySerial(serial)) ||
      (mac && hosts.byMac(normalizeMac(mac))) ||
      undefined
    );
  }

  /** Everyone who already holds one of these details, best evidence first. */
  #holders({ uuid, serial, mac }: Pick<Registration, 'uuid' | 'serial' | 'mac'>): Host[] {
    const { hosts } = this.#options;
    return [
      uuid ? hosts.byUuid(normalizeUuid(uuid)) : undefined,
      serial && serial !== NO_SERIAL ? hosts.bySerial(serial) : undefined,
      mac ? hosts.byMac(normalizeMac(mac)) : undefined,
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
