import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { MACHINES } from '../agent/attributes/machines.ts';
import { runGo } from './go.ts';

const FILE = new URL('../agent/attributes/recorded-by-ghw.json', import.meta.url);

/** What tink-agent's library says of our machines, recorded anew. Gives the machines of which it says something else now. */
export function recordAttributes(isKept: boolean): { count: number; drifted: string[] } {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, unknown>;
  const fresh = Object.fromEntries(
    Object.entries(MACHINES).map(([name, build]) => {
      using machine = build();
      const env = {
        GHW_CHROOT: machine.root,
        PCIDB_PATH: join(machine.root, 'usr/share/misc/pci.ids'),
        PCIDB_ENABLE_NETWORK_FETCH: '0',
      };
      return [name, JSON.parse(runGo('go-attributes', { env })) as unknown];
    }),
  );
  if (isKept) writeFileSync(FILE, `${JSON.stringify(fresh, null, 2)}\n`);
  const drifted = Object.keys(fresh).filter((name) => !isDeepStrictEqual(fresh[name], recorded[name]));
  return { count: Object.keys(fresh).length, drifted };
}
