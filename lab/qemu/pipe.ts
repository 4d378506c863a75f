import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeFolder, removeFolder } from './processes.ts';

/**
 * A pipe for the output of a program; who gives `writeEnd` away closes it. What Node makes for a child is a socket, and full after 171 single bytes.
 * QEMU writes its console byte by byte, and a kernel that finds its serial port busy for 10 ms writes over what is there: a test that did not read
 * for a moment saw lines with letters missing. A pipe holds 64 KiB.
 */
export function openPipe(): { output: Readable; writeEnd: number } {
  const folder = makeFolder('pipe');
  try {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // does not wait for who writes
    const writeEnd = openSync(path, constants.O_WRONLY);
    return { output: new Socket({ fd: readEnd, readable: true, writable: false }), writeEnd };
  } finally {
    removeFolder(folder);
  }
}
