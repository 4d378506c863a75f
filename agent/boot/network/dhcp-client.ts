import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lease, parseLease } from './lease.ts';

/**
 * One busybox udhcpc per interface. It only writes down what it was offered; the agent configures the interface. The clients
 * outlive the agent: one that is restarted finds them running and their leases on file.
 */
export interface DhcpClients {
  start(device: string): void;
  isRunning(device: string): boolean;
  /** The lease and, so that a change is noticed, a text that differs whenever the lease does. */
  lease(device: string): { lease: Lease; fingerprint: string } | undefined;
  /** Ends a client and forgets its lease. */
  stop(device: string): void;
}

/** Every offer is one event; the newest replaces the one before, whole. */
const HANDLER = `#!/bin/sh
# Called by udhcpc with the event as $1 and the offer in the environment; the agent does the rest.
case "$1" in bound | renew) cat /proc/self/environ >"$KINDLING_DHCP/$interface.new" && mv "$KINDLING_DHCP/$interface.new" "$KINDLING_DHCP/$interface.lease" ;; esac
`;

const OPTIONS_WANTED = [
  'subnet',
  'router',
  'dns',
  'hostname',
  'domain',
  'search',
  'ntpsrv',
  'mtu',
  'staticroutes',
];

export function dhcpClients(folder: string, busybox = 'busybox'): DhcpClients {
  mkdirSync(folder, { recursive: true });
  const handler = join(folder, 'handler');
  writeFileSync(handler, HANDLER);
  chmodSync(handler, 0o755);
  const pidOf = (device: string) => Number(readText(join(folder, `${device}.pid`)));
  const isRunning = (device: string) => {
    const pid = pidOf(device);
    // A number on file may by now belong to another process.
    return pid > 1 && (readText(`/proc/${pid}/cmdline`)?.includes(`udhcpc\0`) ?? false);
  };
  return {
    isRunning,
    start(device) {
      if (isRunning(device)) return;
      const args = [
        ...['udhcpc', '-f', '-i', device, '-s', handler, '-p', join(folder, `${device}.pid`)],
        // Four tries three seconds apart, a short pause, again, for ever: a switch may keep a port closed for a minute.
        ...['-t', '4', '-T', '3', '-A', '5', '-V', 'kindling'],
        ...OPTIONS_WANTED.flatMap((option) => ['-O', option]),
      ];
      const child = spawn(busybox, args, {
        stdio: 'ignore',
        detached: true,
        env: { PATH: process.env['PATH'] ?? '', KINDLING_DHCP: folder },
      });
      child.on('error', () => {}); // shows as "not running"; the caller starts it again
      child.unref();
    },
    lease(device) {
      const text = readText(join(folder, `${device}.lease`));
      const lease = text === undefined ? undefined : parseLease(text);
      return lease ? { lease, fingerprint: JSON.stringify(lease) } : undefined;
    },
    stop(device) {
      if (isRunning(device)) process.kill(pidOf(device), 'SIGTERM');
      for (const ending of ['pid', 'lease']) rmSync(join(folder, `${device}.${ending}`), { force: true });
    },
  };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
