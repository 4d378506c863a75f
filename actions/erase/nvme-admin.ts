import { closeSync, openSync } from 'node:fs';
import { KindlingError } from '../../protocol/error.ts';
import { requireNativeLibrary } from '../../system/native-library.ts';

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

const FUNCTIONS = {
  ioctl: { arguments: ['int32', 'uint64', 'uint64'], return: 'int32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const;

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
  const { ffi, functions: libc } = requireNativeLibrary(null, FUNCTIONS, 'NVMe commands');
  const data = Buffer.alloc(Math.max(readBytes, 1));
  const command = Buffer.alloc(COMMAND.length);
  command.writeUInt8(opcode, COMMAND.opcode);
  command.writeUInt32LE(nsid, COMMAND.nsid);
  command.writeUInt32LE(cdw10, COMMAND.cdw10);
  command.writeUInt32LE(timeoutMs, COMMAND.timeoutMs);
  if (readBytes > 0) {
    command.writeBigUInt64LE(ffi.getRawPointer(data), COMMAND.address);
    command.writeUInt32LE(readBytes, COMMAND.dataLength);
  }
  const fd = openSync(device, 'r');
  try {
    const status = libc.ioctl(fd, NVME_IOCTL_ADMIN_CMD, ffi.getRawPointer(command));
    if (status === 0) return data.subarray(0, readBytes);
    const why =
      status < 0 ? `errno ${ffi.getInt32(libc.__errno_location())}` : `status 0x${status.toString(16)}`;
    throw new KindlingError(
      'KND_DISK_IO',
      `${device} refused NVMe command 0x${opcode.toString(16)} (${why})`,
    );
  } finally {
    closeSync(fd);
  }
};
