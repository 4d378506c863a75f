import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';
import { KindlingError } from '../../../protocol/error.ts';

/** Where a PostgreSQL database is, and how much of it we may use. */
export interface DatabaseAddress {
  /** postgres://user@host/database, with PostgreSQL's own parameters (sslmode, sslrootcert, options). */
  url: string;
  /** A file with the password, for those who do not want it in the URL. */
  passwordFile?: string | undefined;
  /** The most connections that are open at once: one that writes, the others read. */
  connections?: number | undefined;
}

export const DEFAULT_CONNECTIONS = 8;
const CONNECT_MS = 5000;
/** A server that says nothing for so long is as good as gone. */
export const ANSWER_MS = 20_000;

/** What is given to pg. The password of a file is read anew with every connection: it may have been changed since. */
export function toClientConfig({ url, passwordFile }: DatabaseAddress): ClientConfig {
  if (!isPostgresUrl(url)) {
    throw new KindlingError('KND_USAGE', `--database is a URL as postgres://user@host/database`);
  }
  return {
    connectionString: passwordFile === undefined ? url : withPassword(url, readPassword(passwordFile)),
    application_name: 'kindling',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  };
}

/** The address without its password, for people. */
export function describeAddress({ url }: DatabaseAddress): string {
  return url.replace(/(:\/\/[^:@/]*):[^@/]*@/, '$1@').replace(/\?.*$/, '');
}

function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (cause) {
    throw new KindlingError('KND_STATE_REFUSED', `the password of the database cannot be read from ${file}`, {
      cause,
    });
  }
}

function withPassword(url: string, password: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}password=${encodeURIComponent(password)}`;
}
