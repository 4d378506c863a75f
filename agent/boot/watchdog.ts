import { openSync, writeSync } from 'node:fs';
import type { View } from '../console/view.ts';

const DEVICE = '/dev/watchdog';
/** Hardware watchdogs time out after 15 to 60 s if nobody says otherwise. */
const PET_EVERY_MS = 5000;

/**
 * Keeps a hardware watchdog quiet as long as the agent's event loop turns; if the machine hangs, the watchdog reboots it.
 * The device stays open when the agent is restarted by init only if the driver says "nowayout"; either is fine.
 */
export function startWatchdog(view: View): void {
  let fd: number;
  try {
    fd = openSync(DEVICE, 'w');
  } catch {
    return; // most machines have none
  }
  view.line('devices', 'hardware watchdog: on');
  setInterval(() => {
    try {
      writeSync(fd, '.');
    } catch {
      // nothing to be done
    }
  }, PET_EVERY_MS).unref();
}
