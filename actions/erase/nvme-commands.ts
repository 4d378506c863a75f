import { readFileSync } from 'node:fs';
import type { EraseCapabilities } from './methods.ts';
import { type AdminCommand, adminCommand } from './nvme-admin.ts';
import { sendSlowCommand } from './nvme-slow-command.ts';

/** NVMe base specification 2.0, section 5: opcodes. */
const GET_LOG_PAGE = 0x02;
const IDENTIFY = 0x06;
const FORMAT = 0x80;
const SANITIZE = 0x84;
const SANITIZE_LOG = 0x81;

/** Identify Controller (figure 275): bytes of the fields. */
const CONTROLLER = {
  /** Optional Admin Command Support. */
  oacs: 256,
  /** Sanitize Capabilities. */
  sanicap: 328,
  /** Format NVM Attributes. */
  fna: 524,
} as const;

/** Identify Namespace: bytes of the fields. */
const NAMESPACE = {
  /** Formatted LBA Size: bits 3:0 format, bit 4 where metadata goes. */
  flbas: 26,
  /** End-to-end Data Protection Type Settings: bits 2:0 type, bit 3 place. */
  dps: 29,
} as const;

/** Sanitize Status log page (figure 288). */
const SANITIZE_STATUS = {
  /** Progress, in 65536ths. */
  sprog: 0,
  /** Status: bits 2:0 the last operation. */
  sstat: 2,
} as const;

export function namespaceOf(diskName: string): number {
  return Number(readFileSync(`/sys/block/${diskName}/nsid`, 'utf8'));
}

/** What the controller can erase by. */
export function readNvmeCapabilities(
  device: string,
  send: AdminCommand = adminCommand,
): EraseCapabilities['nvme'] {
  const controller = send(device, { opcode: IDENTIFY, nsid: 0, cdw10: 1, readBytes: 4096 });
  const sanicap = controller.readUInt32LE(CONTROLLER.sanicap);
  return {
    format: (controller.readUInt16LE(CONTROLLER.oacs) & 2) !== 0,
    cryptoFormat: (controller.readUInt8(CONTROLLER.fna) & 4) !== 0,
    formatsAll: (controller.readUInt8(CONTROLLER.fna) & 3) !== 0,
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
  const flbas = namespace.readUInt8(NAMESPACE.flbas);
  const protection = namespace.readUInt8(NAMESPACE.dps);
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
  const status = log.readUInt16LE(SANITIZE_STATUS.sstat) & 7;
  return {
    state: status === 2 ? 'running' : status === 3 ? 'failed' : 'done',
    percent: (log.readUInt16LE(SANITIZE_STATUS.sprog) / 65536) * 100,
  };
}
