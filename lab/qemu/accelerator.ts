import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { OVMF_CODE } from './firmware.ts';
import { kill, startGuarded } from './processes.ts';

export type Accelerator = 'kvm' | 'tcg';

/**
 * In TCG not `-cpu max`: it is slower (SHA-256 at half the speed). QEMU's own default with what one instruction does where the guest would otherwise
 * use many: the agent starts in three quarters of the time, dm-crypt writes in little more than half. No model of Intel's: its kernel would
 * guard itself against Meltdown.
 */
const TCG_CPU = 'qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+pclmulqdq';

export const ACCELERATOR_ARGS: Record<Accelerator, readonly string[]> = {
  kvm: ['-accel', 'kvm', '-cpu', 'host'],
  tcg: ['-accel', 'tcg,thread=multi', '-cpu', TCG_CPU],
};

/**
 * KVM if it really boots something, else QEMU's own translator. A /dev/kvm that opens proves nothing: there are hosts
 * where a boot sector runs, even in 64-bit mode, and a kernel or UEFI firmware then hangs at its first floating-point
 * instruction. So UEFI firmware is booted, with a deadline. The answer is kept until the host reboots.
 * KINDLING_ACCELERATOR=kvm|tcg overrides it.
 */
export async function chooseAccelerator(): Promise<Accelerator> {
  const wish = process.env['KINDLING_ACCELERATOR'];
  if (wish === 'kvm' || wish === 'tcg') return wish;
  if (wish !== undefined) {
    throw new KindlingError('KND_USAGE', `KINDLING_ACCELERATOR is “${wish}”; it can be kvm or tcg`);
  }
  if (!existsSync('/dev/kvm')) return 'tcg';
  const cache = cacheFile();
  if (existsSync(cache)) return readFileSync(cache, 'utf8') === 'kvm' ? 'kvm' : 'tcg';
  const answer = (await canBoot('kvm', 10_000)) ? 'kvm' : 'tcg';
  writeFileSync(cache, answer);
  return answer;
}

/** Boots UEFI firmware until it looks for something to boot; true if it got there before the deadline. */
export async function canBoot(accelerator: Accelerator, deadlineMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const qemu = startGuarded(
    'qemu-system-x86_64',
    [
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'q35', '-m', '128'],
      ...ACCELERATOR_ARGS[accelerator],
      ...['-serial', 'stdio', '-drive', `if=pflash,format=raw,readonly=on,file=${OVMF_CODE.ovmf}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  const look = (text: string) => {
    output += text;
    if (output.includes('BdsDxe')) resolve(true);
    if (output.includes('KVM internal error')) resolve(false);
  };
  qemu.stdout?.setEncoding('utf8').on('data', look);
  qemu.stderr?.setEncoding('utf8').on('data', look);
  qemu.on('error', () => resolve(false));
  qemu.on('close', () => resolve(false));
  const deadline = setTimeout(() => resolve(false), deadlineMs);
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    await kill(qemu);
  }
}

function cacheFile(): string {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kindling');
  mkdirSync(folder, { recursive: true });
  return join(folder, `accelerator-${bootId}`);
}
