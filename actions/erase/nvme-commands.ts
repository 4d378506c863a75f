import { closeSync, openSync, readFileSync } from 'node:fs';
import { KindlingError } from '../../protocol/error.ts';
import type { EraseCapabilities } from './methods.ts';
import { sendSlowCommand } from './nvme-slow-command.ts';

/** <linux/nvme_ioctl.h>: struct nvme_admin_cmd and its ioctl. The Micro-OS has no nvme-cli: these four commands are all it would be used for. */
const NVME_IOCTL_ADMIN_CMD = 0xc0484e41n;
const COMMAND = {
  opcode: 0,
  nsid: 4,
  address: 24,
  dataLength: 36,
  cdw10: 40,
  timeoutMs: 64,
  length: 72,
} as const;
/** NVMe base specification 2.0, section 5: opcodes. */
const GET_LOG_PAGE = 0x02;
const IDENTIFY = 0x06;
const FORMAT = 0x80;
const SANITIZE = 0x84;
const SANITIZE_LOG = 0x81;

export interface NvmeCommand {
  opcode: number;
  nsid: number;
  cdw10: number;
  readBytes?: number;
  timeoutMs?: number;
}

/** Sends one admin command; gives the data it returned. Tests pass their own. */
export type AdminCommand = (device: string, command: NvmeCommand) => Buffer;

/** Through node:ffi: the call blocks until the disk has answered. */
export const adminCommand: AdminCommand = (
  device,
  { opcode, nsid, cdw10, readBytes = 0, timeoutMs = 60_000 },
) => {
  const { ioctl, errno, addressOf } = loadNative();
  const data = Buffer.alloc(Math.max(readBytes, 1));
  const command = Buffer.alloc(COMMAND.length);
  command.writeUInt8(opcode, COMMAND.opcode);
  command.writeUInt32LE(nsid, COMMAND.nsid);
  command.writeUInt32LE(cdw10, COMMAND.cdw10);
  command.writeUInt32LE(timeoutMs, COMMAND.timeoutMs);
  if (readBytes > 0) {
    command.writeBigUInt64LE(addressOf(data), COMMAND.address);
    command.writeUInt32LE(readBytes, COMMAND.dataLength);
  }
  const fd = openSync(device, 'r');
  try {
    const status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, addressOf(command));
    if (status === 0) return data.subarray(0, readBytes);
    const why = status < 0 ? `errno ${errno()}` : `status 0x${status.toString(16)}`;
    throw new KindlingError(
      'KND_DISK_IO',
      `${device} refused NVMe command 0x${opcode.toString(16)} (${why})`,
    );
  } finally {
    closeSync(fd);
  }
};

export function namespaceOf(diskName: string): number {
  return Number(readFileSync(`/sys/block/${diskName}/nsid`, 'utf8'));
}

/** Identify Controller (figure 275): what it can erase by. */
export function readNvmeCapabilities(
  device: string,
  send: AdminCommand = adminCommand,
): EraseCapabilities['nvme'] {
  const controller = send(device, { opcode: IDENTIFY, nsid: 0, cdw10: 1, readBytes: 4096 });
  const sanicap = controller.readUInt32LE(328);
  return {
    format: (controller.readUInt16LE(256) & 2) !== 0,
    cryptoFormat: (controller.readUInt8(524) & 4) !== 0,
    formatsAll: (controller.readUInt8(524) & 3) !== 0,
    // Block erase first: it leaves a disk that reads as zeros; crypto leaves noise; overwrite wears flash.
    sanitize: sanicap & 2 ? 'block' : sanicap & 1 ? 'crypto' : sanicap & 4 ? 'overwrite' : undefined,
  };
}

/** Format NVM with an explicit Secure Erase Setting: 1 user data, 2 cryptographic. The sector format stays what it is. */
export async function formatNvme(
  device: string,
  nsid: number,
  secureErase: 1 | 2,
  send?: AdminCommand,
): Promise<void> {
  const namespace = (send ?? adminCommand)(device, { opcode: IDENTIFY, nsid, cdw10: 0, readBytes: 4096 });
  const flbas = namespace.readUInt8(26); // bits 3:0 format, bit 4 where metadata goes
  const protection = namespace.readUInt8(29); // bits 2:0 type, bit 3 place
  const keep = (flbas & 0x1f) | ((protection & 0x0f) << 5);
  await (send ?? sendSlowCommand)(device, {
    opcode: FORMAT,
    nsid,
    cdw10: keep | (secureErase << 9),
    timeoutMs: 24 * 3600_000,
  });
}

export function startSanitize(
  device: string,
  how: 'block' | 'crypto' | 'overwrite',
  send: AdminCommand = adminCommand,
): void {
  // Passes of an overwrite stand in bits 7:4, where 0 means sixteen.
  const action = { block: 2, overwrite: 3 | (1 << 4), crypto: 4 }[how];
  send(device, { opcode: SANITIZE, nsid: 0, cdw10: action });
}

export type SanitizeState = 'running' | 'done' | 'failed';

/** Sanitize Status log page (figure 288). */
export function readSanitizeState(
  device: string,
  send: AdminCommand = adminCommand,
): { state: SanitizeState; percent: number } {
  const log = send(device, {
    opcode: GET_LOG_PAGE,
    nsid: 0xffff_ffff,
    cdw10: SANITIZE_LOG | ((512 / 4 - 1) << 16),
    readBytes: 512,
  });
  const status = log.readUInt16LE(2) & 7;
  return {
    state: status === 2 ? 'running' : status === 3 ? 'failed' : 'done',
    percent: (log.readUInt16LE(0) / 65536) * 100,
  };
}

type Ffi = typeof import('node:ffi');

function loadNative() {
  const ffi = process.getBuiltinModule('node:ffi') as Ffi | undefined;
  if (!ffi) throw new KindlingError('KND_TOOL_MISSING', 'NVMe commands need a Node with node:ffi');
  const { functions } = ffi.dlopen(null, {
    ioctl: { arguments: ['int32', 'uint64', 'uint64'], return: 'int32' },
    __errno_location: { arguments: [], return: 'pointer' },
  });
  return {
    ioctl: functions.ioctl,
    errno: () => ffi.getInt32(functions.__errno_location()),
    addressOf: (view: Buffer) => ffi.getRawPointer(view),
  };
}
