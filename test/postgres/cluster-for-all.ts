import type { TestProject } from 'vitest/node';
import { PostgresCluster } from '../../lab/postgres/cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the socket of the PostgreSQL server of this run is. */
    postgresFolder: string;
  }
}

/** One PostgreSQL server for all files of the project "postgres". */
export default async function startCluster(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await PostgresCluster.start();
  project.provide('postgresFolder', cluster.folder);
  return () => cluster[Symbol.asyncDispose]();
}
