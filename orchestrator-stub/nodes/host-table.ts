import type { HostId } from '../../protocol/ids.ts';
import type { Database } from '../store/database.ts';
import type { Discovery } from './discovery.ts';
import type { Host } from './host.ts';
import type { Instance } from './instance.ts';

interface Row {
  document: string;
}

/** Hosts with their inventory and instance. */
export class HostTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(): Host[] {
    return this.#hosts('SELECT document FROM hosts ORDER BY created_at, id');
  }

  byId(id: HostId): Host | undefined {
    return this.#hosts('SELECT document FROM hosts WHERE id = ?', id)[0];
  }

  byUuid(uuid: string): Host | undefined {
    return this.#hosts('SELECT document FROM hosts WHERE uuid = ?', uuid)[0];
  }

  /** Case does not matter: labels are typed by people. Registered hosts first. */
  bySerial(serial: string): Host | undefined {
    return this.#hosts(
      'SELECT document FROM hosts WHERE serial = lower(?) ORDER BY is_registered DESC',
      serial,
    )[0];
  }

  byMac(mac: string): Host | undefined {
    return this.withMac(mac)[0];
  }

  /** Registered hosts first. */
  withMac(mac: string): Host[] {
    return this.#hosts('SELECT document FROM hosts WHERE mac = ? ORDER BY is_registered DESC', mac);
  }

  /** The machine that a person let in with this sign-in. */
  bySignIn(signIn: string): Host | undefined {
    return this.#hosts('SELECT document FROM hosts WHERE sign_in = ?', signIn)[0];
  }

  /** The one that was seen last, where several were given the same address one after the other. */
  byReportedIp(ip: string): Host | undefined {
    return this.#hosts(
      "SELECT document FROM hosts WHERE json_extract(document, '$.reportedIp') = ? ORDER BY json_extract(document, '$.lastSeenAt') DESC LIMIT 1",
      ip,
    )[0];
  }

  save(host: Host): void {
    this.#database.run(
      'INSERT INTO hosts (id, document) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET document = excluded.document',
      host.id,
      JSON.stringify(host),
    );
  }

  delete(id: HostId): void {
    this.#database.run('DELETE FROM hosts WHERE id = ?', id);
  }

  /** Machines nobody registered, those that were let in all the same included. */
  countUnknown(): number {
    const row = this.#database.get<{ count: number }>(
      'SELECT count(*) AS count FROM hosts WHERE is_unknown = 1',
    );
    return row?.count ?? 0;
  }

  /** Removes the machine nobody registered that was silent longest. False: there is none without a workflow. */
  forgetOldestUnknown(): boolean {
    return (
      this.#database.run(
        `DELETE FROM hosts WHERE id = (SELECT id FROM hosts WHERE is_unknown = 1 AND is_registered = 0
         AND id NOT IN (SELECT host_id FROM workflows)
         ORDER BY coalesce(json_extract(document, '$.lastSeenAt'), created_at) LIMIT 1)`,
      ) > 0
    );
  }

  /** Removes machines that only showed themselves, and not since then. One with a workflow has more than that. */
  forgetUnseenSince(time: Date): void {
    this.#database.run(
      `DELETE FROM hosts WHERE is_unknown = 1 AND is_registered = 0
       AND coalesce(json_extract(document, '$.lastSeenAt'), created_at) < ?
       AND id NOT IN (SELECT host_id FROM workflows)`,
      time.toISOString(),
    );
  }

  saveAttributes(hostId: HostId, attributes: unknown, at: Date): void {
    this.#database.run(
      'INSERT INTO agent_attributes (host_id, document, reported_at) VALUES (?, ?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document, reported_at = excluded.reported_at',
      hostId,
      JSON.stringify(attributes),
      at.toISOString(),
    );
  }

  /** What the node's agent said about its machine in Tinkerbell's words. */
  attributes(hostId: HostId): unknown {
    const row = this.#database.get<Row>('SELECT document FROM agent_attributes WHERE host_id = ?', hostId);
    return row && (JSON.parse(row.document) as unknown);
  }

  /** What somebody at an address says the machine is: kept aside until the node is let in from there. */
  saveClaim(hostId: HostId, discovery: Discovery, address: string, at: Date): void {
    this.#database.run(
      'INSERT INTO claimed_inventories (host_id, document, address, reported_at) VALUES (?, ?, ?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document, address = excluded.address, reported_at = excluded.reported_at',
      hostId,
      JSON.stringify(discovery),
      address,
      at.toISOString(),
    );
  }

  claim(hostId: HostId): Discovery | undefined {
    const row = this.#database.get<Row>('SELECT document FROM claimed_inventories WHERE host_id = ?', hostId);
    return row && (JSON.parse(row.document) as Discovery);
  }

  /** The node was let in from this address: what was claimed from there is its inventory. */
  acceptClaim(hostId: HostId, address: string): void {
    this.#database.run(
      'INSERT OR REPLACE INTO inventories (host_id, document, reported_at) SELECT host_id, document, reported_at FROM claimed_inventories WHERE host_id = ? AND address = ?',
      hostId,
      address,
    );
  }

  moveClaim(from: HostId, to: HostId): void {
    this.#database.run('UPDATE OR REPLACE claimed_inventories SET host_id = ? WHERE host_id = ?', to, from);
  }

  inventory(hostId: HostId): Discovery | undefined {
    const row = this.#database.get<Row>('SELECT document FROM inventories WHERE host_id = ?', hostId);
    return row && (JSON.parse(row.document) as Discovery);
  }

  /** How the node reached us, for example «https://10.0.2.2:8443». */
  saveOrigin(hostId: HostId, origin: string): void {
    this.#database.run(
      'INSERT INTO origins (host_id, origin) VALUES (?, ?) ON CONFLICT (host_id) DO UPDATE SET origin = excluded.origin',
      hostId,
      origin,
    );
  }

  origin(hostId: HostId): string | undefined {
    return this.#database.get<{ origin: string }>('SELECT origin FROM origins WHERE host_id = ?', hostId)
      ?.origin;
  }

  instanceByFirstBootKey(key: string): Instance | undefined {
    return this.#instance('SELECT document FROM instances WHERE first_boot_key = ?', key);
  }

  instanceByEscrowKey(key: string): Instance | undefined {
    return this.#instance('SELECT document FROM instances WHERE escrow_key = ?', key);
  }

  instanceByNeighborsKey(key: string): Instance | undefined {
    return this.#instance('SELECT document FROM instances WHERE neighbors_key = ?', key);
  }

  instance(hostId: HostId): Instance | undefined {
    return this.#instance('SELECT document FROM instances WHERE host_id = ?', hostId);
  }

  saveInstance(instance: Instance): void {
    this.#database.run(
      'INSERT INTO instances (host_id, document) VALUES (?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document',
      instance.hostId,
      JSON.stringify(instance),
    );
  }

  #instance(sql: string, value: string): Instance | undefined {
    const row = this.#database.get<Row>(sql, value);
    return row && (JSON.parse(row.document) as Instance);
  }

  #hosts(sql: string, ...values: string[]): Host[] {
    return this.#database.all<Row>(sql, ...values).map((row) => JSON.parse(row.document) as Host);
  }
}
