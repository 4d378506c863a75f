import type { HostId } from '../../protocol/ids.ts';
import type { Seal } from '../seal/seal.ts';
import type { Store } from '../store/store.ts';
import type { Discovery } from './discovery.ts';
import type { Host } from './host.ts';
import type { Instance } from './instance.ts';
import { hashOfKey, openInstance, sealInstance } from './instance-keys.ts';

interface Row {
  document: string;
}

/** Hosts with their inventory and instance. */
export class HostTable {
  readonly #store: Store;
  readonly #seal: Seal;

  constructor(store: Store, seal: Seal) {
    this.#store = store;
    this.#seal = seal;
  }

  async list(): Promise<Host[]> {
    return this.#hosts('SELECT document FROM hosts ORDER BY created_at, id');
  }

  async byId(id: HostId): Promise<Host | undefined> {
    return (await this.#hosts('SELECT document FROM hosts WHERE id = ?', id))[0];
  }

  async byUuid(uuid: string): Promise<Host | undefined> {
    return (await this.#hosts('SELECT document FROM hosts WHERE uuid = ?', uuid))[0];
  }

  /** Case does not matter: labels are typed by people. Registered hosts first. */
  async bySerial(serial: string): Promise<Host | undefined> {
    return (
      await this.#hosts(
        'SELECT document FROM hosts WHERE serial = ? ORDER BY is_registered DESC',
        lowerAscii(serial),
      )
    )[0];
  }

  async byMac(mac: string): Promise<Host | undefined> {
    return (await this.withMac(mac))[0];
  }

  /** Registered hosts first. */
  async withMac(mac: string): Promise<Host[]> {
    return this.#hosts('SELECT document FROM hosts WHERE mac = ? ORDER BY is_registered DESC', mac);
  }

  async named(name: string): Promise<Host[]> {
    return this.#hosts('SELECT document FROM hosts WHERE name = ? ORDER BY created_at, id', name);
  }

  /** The machine that a person let in with this sign-in. */
  async bySignIn(signIn: string): Promise<Host | undefined> {
    return (await this.#hosts('SELECT document FROM hosts WHERE sign_in = ?', signIn))[0];
  }

  /** The node that is known by this TPM. */
  async byEkHash(ekHash: string): Promise<Host | undefined> {
    return (await this.#hosts('SELECT document FROM hosts WHERE ek_hash = ?', ekHash))[0];
  }

  /** The one that was seen last, where several were given the same address one after the other. */
  async byReportedIp(ip: string): Promise<Host | undefined> {
    return (
      await this.#hosts(
        "SELECT document FROM hosts WHERE json_extract(document, '$.reportedIp') = ? ORDER BY json_extract(document, '$.lastSeenAt') DESC LIMIT 1",
        ip,
      )
    )[0];
  }

  async save(host: Host): Promise<void> {
    await this.#store.run(
      'INSERT INTO hosts (id, document) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET document = excluded.document',
      host.id,
      JSON.stringify(host),
    );
  }

  async delete(id: HostId): Promise<void> {
    await this.#store.run('DELETE FROM hosts WHERE id = ?', id);
  }

  async countWithProfile(name: string): Promise<number> {
    const row = await this.#store.get<{ count: number }>(
      "SELECT count(*) AS count FROM hosts WHERE json_extract(document, '$.profile') = ?",
      name,
    );
    return Number(row?.count ?? 0);
  }

  /** Machines nobody registered, those that were let in all the same included. */
  async countUnknown(): Promise<number> {
    const row = await this.#store.get<{ count: number }>(
      'SELECT count(*) AS count FROM hosts WHERE is_unknown = 1',
    );
    return row?.count ?? 0;
  }

  /** Removes the machine nobody registered that was silent longest. False: there is none without a workflow. */
  async forgetOldestUnknown(): Promise<boolean> {
    return (
      (await this.#store.run(
        `DELETE FROM hosts WHERE id = (SELECT id FROM hosts WHERE is_unknown = 1 AND is_registered = 0
         AND id NOT IN (SELECT host_id FROM workflows)
         ORDER BY coalesce(json_extract(document, '$.lastSeenAt'), created_at) LIMIT 1)`,
      )) > 0
    );
  }

  /** Removes machines that only showed themselves, and not since then. One with a workflow has more than that. */
  async forgetUnseenSince(time: Date): Promise<void> {
    await this.#store.run(
      `DELETE FROM hosts WHERE is_unknown = 1 AND is_registered = 0
       AND coalesce(json_extract(document, '$.lastSeenAt'), created_at) < ?
       AND id NOT IN (SELECT host_id FROM workflows)`,
      time.toISOString(),
    );
  }

  async saveAttributes(hostId: HostId, attributes: unknown, at: Date): Promise<void> {
    await this.#store.run(
      'INSERT INTO agent_attributes (host_id, document, reported_at) VALUES (?, ?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document, reported_at = excluded.reported_at',
      hostId,
      JSON.stringify(attributes),
      at.toISOString(),
    );
  }

  /** What the node's agent said about its machine in Tinkerbell's words. */
  async attributes(hostId: HostId): Promise<unknown> {
    const row = await this.#store.get<Row>('SELECT document FROM agent_attributes WHERE host_id = ?', hostId);
    return row && (JSON.parse(row.document) as unknown);
  }

  /** What somebody at an address says the machine is: kept aside until the node is let in from there. */
  async saveClaim(hostId: HostId, discovery: Discovery, address: string, at: Date): Promise<void> {
    await this.#store.run(
      'INSERT INTO claimed_inventories (host_id, document, address, reported_at) VALUES (?, ?, ?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document, address = excluded.address, reported_at = excluded.reported_at',
      hostId,
      JSON.stringify(discovery),
      address,
      at.toISOString(),
    );
  }

  async claim(hostId: HostId): Promise<Discovery | undefined> {
    const row = await this.#store.get<Row>(
      'SELECT document FROM claimed_inventories WHERE host_id = ?',
      hostId,
    );
    return row && (JSON.parse(row.document) as Discovery);
  }

  /** The node was let in from this address: what was claimed from there is its inventory. */
  async acceptClaim(hostId: HostId, address: string): Promise<void> {
    await this.#store.run(
      `INSERT INTO inventories (host_id, document, reported_at)
       SELECT host_id, document, reported_at FROM claimed_inventories WHERE host_id = ? AND address = ?
       ON CONFLICT (host_id) DO UPDATE SET document = excluded.document, reported_at = excluded.reported_at`,
      hostId,
      address,
    );
  }

  async moveClaim(from: HostId, to: HostId): Promise<void> {
    await this.#store.run(
      `INSERT INTO claimed_inventories (host_id, document, address, reported_at)
       SELECT ?, document, address, reported_at FROM claimed_inventories WHERE host_id = ?
       ON CONFLICT (host_id) DO UPDATE
       SET document = excluded.document, address = excluded.address, reported_at = excluded.reported_at`,
      to,
      from,
    );
    await this.#store.run('DELETE FROM claimed_inventories WHERE host_id = ?', from);
  }

  async inventory(hostId: HostId): Promise<Discovery | undefined> {
    const row = await this.#store.get<Row>('SELECT document FROM inventories WHERE host_id = ?', hostId);
    return row && (JSON.parse(row.document) as Discovery);
  }

  /** How the node reached us, for example "https://10.0.2.2:8443". */
  async saveOrigin(hostId: HostId, origin: string): Promise<void> {
    await this.#store.run(
      'INSERT INTO origins (host_id, origin) VALUES (?, ?) ON CONFLICT (host_id) DO UPDATE SET origin = excluded.origin',
      hostId,
      origin,
    );
  }

  async origin(hostId: HostId): Promise<string | undefined> {
    const row = await this.#store.get<{ origin: string }>(
      'SELECT origin FROM origins WHERE host_id = ?',
      hostId,
    );
    return row?.origin;
  }

  async instanceByFirstBootKey(key: string): Promise<Instance | undefined> {
    return this.#instance('SELECT document FROM instances WHERE first_boot_key = ?', hashOfKey(key));
  }

  async instanceByEscrowKey(key: string): Promise<Instance | undefined> {
    return this.#instance('SELECT document FROM instances WHERE escrow_key = ?', hashOfKey(key));
  }

  async instanceByNeighborsKey(key: string): Promise<Instance | undefined> {
    return this.#instance('SELECT document FROM instances WHERE neighbors_key = ?', hashOfKey(key));
  }

  async instance(hostId: HostId): Promise<Instance | undefined> {
    return this.#instance('SELECT document FROM instances WHERE host_id = ?', hostId);
  }

  /** Instances whose first boot or newest status is from this time or later. */
  async instancesSince(time: string): Promise<Instance[]> {
    const rows = await this.#store.all<Row>(
      `SELECT document FROM instances WHERE json_extract(document, '$.firstBootAt') >= ?1
       OR json_extract(document, '$.provisioningStatus.at') >= ?1`,
      time,
    );
    return rows.map((row) => JSON.parse(row.document) as Instance);
  }

  async saveInstance(instance: Instance): Promise<void> {
    await this.#store.run(
      'INSERT INTO instances (host_id, document) VALUES (?, ?) ON CONFLICT (host_id) DO UPDATE SET document = excluded.document',
      instance.hostId,
      sealInstance(instance, this.#seal),
    );
  }

  async #instance(sql: string, value: string): Promise<Instance | undefined> {
    const row = await this.#store.get<Row>(sql, value);
    return row && openInstance(row.document, this.#seal);
  }

  async #hosts(sql: string, ...values: string[]): Promise<Host[]> {
    const rows = await this.#store.all<Row>(sql, ...values);
    return rows.map((row) => JSON.parse(row.document) as Host);
  }
}

/** As lower() of the database has made what is compared with it: letters of ASCII only. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
