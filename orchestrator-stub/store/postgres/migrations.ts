import type { ClientBase } from 'pg';
import { KindlingError } from '../../../protocol/error.ts';
import { checkLayout, STEPS } from '../migrations.ts';
import { toPostgres } from './schema-text.ts';

/** The value at a path. Only functions of PostgreSQL itself: pg_restore fills generated columns without a search path. */
const VALUE = "document::json #> string_to_array(substr(path, 3), '.')";
const AS_TEXT = `CASE json_typeof(${VALUE}) WHEN 'boolean' THEN (${VALUE})::text::boolean::int::text ELSE (${VALUE}) #>> '{}' END`;

/**
 * SQLite's json_extract() for the paths we use ($.name, $.name.name): true is 1, false is 0, null is NULL. Declared immutable, so that
 * generated columns and indexes may use it: what it makes of a text depends on nothing else.
 */
const FUNCTIONS = `
  CREATE OR REPLACE FUNCTION json_extract(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT ${AS_TEXT} $$;
  CREATE OR REPLACE FUNCTION json_integer(document text, path text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT (${AS_TEXT})::bigint $$;
`;

/**
 * What this engine keeps for itself: how far the layout is, the table that a writer locks, and what processes tell each other. Ids
 * start from the clock: a Last-Event-ID of a SQLite file, or of a database that was there before, is older than all.
 */
const OWN_TABLES = `
  CREATE TABLE IF NOT EXISTS kindling_layout (version BIGINT NOT NULL);
  CREATE TABLE IF NOT EXISTS kindling_writer ();
  CREATE TABLE IF NOT EXISTS kindling_outbox (
    id BIGINT PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL DEFAULT now(),
    topic TEXT NOT NULL,
    body TEXT NOT NULL
  );
  INSERT INTO kindling_outbox (id, topic, body)
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'begin', '{}'
    WHERE NOT EXISTS (SELECT FROM kindling_outbox);
  DROP TABLE IF EXISTS kindling_owner;
`;

/** Two programs that start at once must not both make the tables. The number means nothing: nobody else uses it. */
const MIGRATION_LOCK = 7_318_001;

/** Others use the database just now, so its layout stays as it is. */
export async function checkOwnLayout(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM kindling_layout');
  const version = checkLayout(rows[0]?.version ?? 0);
  if (version === STEPS.length) return;
  throw new KindlingError(
    'KND_STATE_IN_USE',
    `the database has layout ${version} and is used by an older version of kindling; this one needs ${STEPS.length}`,
    { hint: 'Stop the older ones first; the first new one that starts changes the layout.' },
  );
}

/** Brings the schema to the newest layout, all steps in one transaction. */
export async function migrate(client: ClientBase): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext(current_schema()))', [MIGRATION_LOCK]);
    await client.query(OWN_TABLES);
    const { rows } = await client.query<{ version: number }>('SELECT version FROM kindling_layout');
    const version = checkLayout(rows[0]?.version ?? 0);
    if (version < STEPS.length) {
      await client.query(FUNCTIONS);
      for (const step of STEPS.slice(version)) await client.query(toPostgres(step));
      await client.query('DELETE FROM kindling_layout');
      await client.query('INSERT INTO kindling_layout (version) VALUES ($1)', [STEPS.length]);
    }
    await client.query('COMMIT');
  } catch (thrown) {
    await client.query('ROLLBACK');
    throw thrown;
  }
}
