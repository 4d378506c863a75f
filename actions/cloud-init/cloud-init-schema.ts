import { readFile } from 'node:fs/promises';
import type { JsonSchema } from './json-schema.ts';

/** Where Debian's cloud-init keeps its schema; the Micro-OS has this one file of the package (decision 054). */
const FILE = '/usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json';

/** cloud-init's own schema of a cloud-config; undefined where it is not there, as when the agent runs alone on another system. */
export async function loadCloudInitSchema(file = FILE): Promise<JsonSchema | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as JsonSchema);
}
