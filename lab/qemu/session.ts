import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { KindlingError } from '../../protocol/error.ts';
import { SerialConsole } from './console.ts';
import { openPipe } from './pipe.ts';
import { startGuarded } from './processes.ts';
import { Qmp } from './qmp.ts';

/** One power-on of a machine: from the start of QEMU to its end. */
export interface Session {
  qemu: ChildProcess;
  qmp: Qmp;
  console: SerialConsole;
  secondConsole: SerialConsole | undefined;
  /** What QEMU itself said so far. */
  stderr: () => string;
  /** Resolves when QEMU is gone and everything it said has arrived. */
  closed: Promise<void>;
}

interface SessionOptions {
  hasSecondSerial: boolean;
  elapsedMs: () => number;
  onEvent: (name: string, data: Record<string, unknown>) => void;
}

/** Starts QEMU with its console on stdin and stdout, its control channel on descriptor 3, the second serial port on 4. */
export function startSession([program = '', ...args]: readonly string[], options: SessionOptions): Session {
  const { output, writeEnd } = openPipe();
  const qemu = startGuarded(program, args, { stdio: ['pipe', writeEnd, 'pipe', 'pipe', 'pipe'] });
  closeSync(writeEnd);
  const [stdin, , stderr, qmp, serial] = qemu.stdio as [Writable, null, Readable, Duplex, Duplex];
  const closed = Promise.withResolvers<void>();
  const heardAll = new Promise<void>((resolve) => output.once('close', resolve));
  let said = '';
  const session: Session = {
    qemu,
    qmp: new Qmp(qmp, options.onEvent),
    console: connect(stdin, output, options.elapsedMs),
    secondConsole: options.hasSecondSerial ? connect(serial, serial, options.elapsedMs) : undefined,
    stderr: () => said.trim(),
    closed: closed.promise,
  };
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  qemu.on('close', async (exitCode, signal) => {
    await heardAll;
    const how = signal ? `was killed (${signal})` : `ended with exit code ${exitCode}`;
    const reason = `QEMU ${how}${said ? `: ${said.trim()}` : ''}`;
    session.console.end(reason);
    session.secondConsole?.end(reason);
    closed.resolve();
  });
  if (process.env['KINDLING_VM_CONSOLE']) {
    session.console.onLine(({ text, atMs }) => process.stderr.write(`${(atMs / 1000).toFixed(1)} ${text}\n`));
  }
  return session;
}

function connect(input: Writable, output: Readable, elapsedMs: () => number): SerialConsole {
  input.on('error', () => {}); // typing into a machine that has just been switched off
  const serial = new SerialConsole({ write: (text) => void input.write(text), elapsedMs });
  output.setEncoding('utf8').on('data', (chunk: string) => serial.receive(chunk));
  output.on('error', () => {});
  return serial;
}

/** Why QEMU did not start. */
export function startError(session: Session, cause: unknown): KindlingError {
  const said = session.stderr();
  if (said.includes('failed to execute')) {
    return new KindlingError('KND_TOOL_MISSING', 'qemu-system-x86_64 is not installed', {
      hint: 'Install the Debian package qemu-system-x86.',
      cause,
    });
  }
  return new KindlingError('KND_VM_ENDED', `QEMU did not start: ${said || 'it said nothing'}`, { cause });
}
