import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import type { Namespace } from '../qemu/network.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
const COMMAND = [process.execPath, '--disable-warning=ExperimentalWarning', CLI];

/** Runs `kindling …` in a namespace to its end; gives what it prints. */
export async function runKindling(namespace: Namespace, args: readonly string[]): Promise<string> {
  return (await namespace.run('env', [...COMMAND, ...args])).stdout;
}

export interface Serving {
  process: ChildProcess;
  log: () => string;
}

/** Starts `kindling …` as a server in a namespace, which ends it; resolves when it has said `ready`. */
export async function startKindling(
  namespace: Namespace,
  args: readonly string[],
  ready: string,
): Promise<Serving> {
  let log = '';
  const said = Promise.withResolvers<void>();
  const process = namespace.start('env', [...COMMAND, ...args], (text) => {
    log += text;
    if (log.includes(ready)) said.resolve();
  });
  process.on('close', () =>
    said.reject(new KindlingError('KND_UNEXPECTED', `kindling ${args[0]} ended: ${log.trim()}`)),
  );
  await said.promise;
  return { process, log: () => log };
}

/** What `kindling serve --pxe` says when machines can boot. */
export const MACHINES_BOOT = 'machines boot from';
