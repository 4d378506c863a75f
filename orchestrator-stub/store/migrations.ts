import type { DatabaseSync } from 'node:sqlite';
import { KindlingError } from '../../protocol/error.ts';

/**
 * Each step is applied once, in order; PRAGMA user_version counts them. A step that has shipped is never edited.
 * Records are JSON documents; what is looked up or must be unique is a generated column with an index.
 */
const STEPS: readonly string[] = [
  `
  CREATE TABLE hosts (
    id TEXT PRIMARY KEY,
    document TEXT NOT NULL,
    uuid TEXT GENERATED ALWAYS AS (json_extract(document, '$.uuid')) VIRTUAL,
    serial TEXT GENERATED ALWAYS AS (lower(json_extract(document, '$.serial'))) VIRTUAL,
    mac TEXT GENERATED ALWAYS AS (json_extract(document, '$.mac')) VIRTUAL,
    is_registered INTEGER GENERATED ALWAYS AS (json_extract(document, '$.isRegistered')) VIRTUAL,
    created_at TEXT GENERATED ALWAYS AS (json_extract(document, '$.createdAt')) VIRTUAL
  ) STRICT;
  CREATE UNIQUE INDEX hosts_uuid ON hosts (uuid) WHERE uuid IS NOT NULL;
  CREATE UNIQUE INDEX hosts_serial ON hosts (serial) WHERE serial IS NOT NULL AND serial <> 'n/a' AND is_registered = 1;
  CREATE INDEX hosts_serial_lookup ON hosts (serial) WHERE serial IS NOT NULL;
  CREATE INDEX hosts_mac ON hosts (mac) WHERE mac IS NOT NULL;

  CREATE TABLE inventories (
    host_id TEXT PRIMARY KEY REFERENCES hosts (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    reported_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE instances (
    host_id TEXT PRIMARY KEY REFERENCES hosts (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    first_boot_key TEXT GENERATED ALWAYS AS (json_extract(document, '$.firstBootKey')) VIRTUAL
  ) STRICT;
  CREATE INDEX instances_first_boot_key ON instances (first_boot_key);

  CREATE TABLE origins (
    host_id TEXT PRIMARY KEY REFERENCES hosts (id) ON DELETE CASCADE,
    origin TEXT NOT NULL
  ) STRICT;

  CREATE TABLE clients (
    client_id TEXT PRIMARY KEY,
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    secret TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX clients_host ON clients (host_id);

  CREATE TABLE users (
    name TEXT PRIMARY KEY,
    password_hash TEXT NOT NULL,
    salt TEXT NOT NULL,
    project_id TEXT NOT NULL
  ) STRICT;

  CREATE TABLE profiles (name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;
  CREATE TABLE templates (name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;
  CREATE TABLE settings (name TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;

  CREATE TABLE workflows (
    id TEXT PRIMARY KEY,
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    definition TEXT NOT NULL
  ) STRICT;
  CREATE INDEX workflows_host ON workflows (host_id);

  CREATE TABLE workflow_progress (
    workflow_id TEXT PRIMARY KEY REFERENCES workflows (id) ON DELETE CASCADE,
    document TEXT NOT NULL
  ) STRICT;

  CREATE TABLE log_lines (
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    stream TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    time TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    fields TEXT,
    PRIMARY KEY (host_id, stream, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX log_lines_time ON log_lines (host_id, time);
  `,
  // Machines nobody registered are counted with every new one; what agents of the current dialect say about themselves.
  `
  ALTER TABLE hosts ADD COLUMN is_unknown INTEGER GENERATED ALWAYS AS
    (json_extract(document, '$.isRegistered') = 0 OR json_extract(document, '$.isUninvited') = 1) VIRTUAL;
  CREATE INDEX hosts_unknown ON hosts (is_unknown) WHERE is_unknown = 1;
  CREATE TABLE agent_attributes (
    host_id TEXT PRIMARY KEY REFERENCES hosts (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    reported_at TEXT NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE recovery_keys (
    host_id TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    key_id TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (host_id, key_id)
  ) STRICT;
  `,
  // Lines are counted and pruned in the order they arrived in: what they say of time and number is the sender's word.
  `
  ALTER TABLE log_lines ADD COLUMN arrival INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE log_lines ADD COLUMN bytes INTEGER NOT NULL DEFAULT 200;
  CREATE INDEX log_lines_arrival ON log_lines (host_id, arrival);
  CREATE INDEX hosts_reported_ip ON hosts (json_extract(document, '$.reportedIp'));
  `,
  // What a machine said of itself without proof, and from where: no template sees it until a node is let in from that address.
  `
  CREATE TABLE claimed_inventories (
    host_id TEXT PRIMARY KEY REFERENCES hosts (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    address TEXT NOT NULL,
    reported_at TEXT NOT NULL
  ) STRICT;
  `,
  // A key for each purpose (an instance from before has one for all), which machine a sign-in let in, and until when sign-ins are good.
  `
  ALTER TABLE instances ADD COLUMN escrow_key TEXT GENERATED ALWAYS AS
    (coalesce(json_extract(document, '$.escrowKey'), json_extract(document, '$.firstBootKey'))) VIRTUAL;
  ALTER TABLE instances ADD COLUMN neighbors_key TEXT GENERATED ALWAYS AS
    (coalesce(json_extract(document, '$.neighborsKey'), json_extract(document, '$.firstBootKey'))) VIRTUAL;
  CREATE INDEX instances_escrow_key ON instances (escrow_key);
  CREATE INDEX instances_neighbors_key ON instances (neighbors_key);
  ALTER TABLE hosts ADD COLUMN sign_in TEXT GENERATED ALWAYS AS (json_extract(document, '$.signIn')) VIRTUAL;
  CREATE INDEX hosts_sign_in ON hosts (sign_in) WHERE sign_in IS NOT NULL;
  CREATE TABLE sign_ins (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    address TEXT NOT NULL,
    ends_at INTEGER NOT NULL,
    refresh_id TEXT NOT NULL,
    previous_refresh_id TEXT,
    refreshed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX sign_ins_ends ON sign_ins (ends_at);
  `,
];

/** Brings the file to the newest layout, one transaction per step. */
export function migrate(connection: DatabaseSync): void {
  const row = connection.prepare('PRAGMA user_version').get() as { user_version: number };
  if (row.user_version > STEPS.length) {
    throw new KindlingError(
      'KND_STUB_STATE',
      `the database has layout ${row.user_version}, this version of kindling knows ${STEPS.length}`,
      { hint: 'Run the newer version of kindling that wrote it, or start with another --state folder.' },
    );
  }
  for (let version = row.user_version; version < STEPS.length; version++) {
    connection.exec(`BEGIN IMMEDIATE; ${STEPS[version]}; PRAGMA user_version = ${version + 1}; COMMIT;`);
  }
}
