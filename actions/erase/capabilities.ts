import { readFile } from 'node:fs/promises';
import type { Run } from '../../agent/system/run.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { EraseCapabilities } from './methods.ts';

/** Asks the kernel, and the disk itself where a tool can: a disk that does not say it can is not tried (boot-chain.md 9: tools exit 0 all the same). */
export async function readCapabilities(disk: Disk, run: Run): Promise<EraseCapabilities> {
  const queue = async (name: string) =>
    Number(await readFile(`/sys/class/block/${disk.name}/queue/${name}`, 'utf8').catch(() => '0'));
  const nvme = disk.bus === 'nvme' ? await nvmeCapabilities(disk, run) : undefined;
  const ata = ['sata', 'ide', 'scsi', 'other'].includes(disk.bus)
    ? await ataCapabilities(disk, run)
    : undefined;
  return {
    discard: (await queue('discard_max_bytes')) > 0,
    writeZeroes: (await queue('write_zeroes_max_bytes')) > 0,
    ...(nvme ? { nvme } : {}),
    ...(ata ? { ata } : {}),
  };
}

async function nvmeCapabilities(disk: Disk, run: Run): Promise<EraseCapabilities['nvme']> {
  const answer = await run('nvme', ['id-ctrl', disk.path, '-o', 'json'], { timeoutMs: 10_000 }).catch(
    () => undefined,
  );
  return answer && parseNvmeController(answer.stdout);
}

/** NVMe base specification 2.0, figure 275 (Identify Controller): OACS, FNA, SANICAP. */
export function parseNvmeController(json: string): EraseCapabilities['nvme'] {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const bits = (name: string) => Number(fields[name] ?? 0);
  const sanicap = bits('sanicap');
  return {
    format: (bits('oacs') & 2) !== 0,
    cryptoFormat: (bits('fna') & 4) !== 0,
    // Block erase first: it leaves a disk that reads as zeros; crypto leaves noise; overwrite wears flash.
    sanitize: sanicap & 2 ? 'block' : sanicap & 1 ? 'crypto' : sanicap & 4 ? 'overwrite' : undefined,
  };
}

async function ataCapabilities(disk: Disk, run: Run): Promise<EraseCapabilities['ata']> {
  const answer = await run('hdparm', ['-I', disk.path], { timeoutMs: 10_000, okExitCodes: [0, 5, 25] }).catch(
    () => undefined,
  );
  return answer && parseHdparmSecurity(answer.stdout);
}

/** The «Security:» section of `hdparm -I`; each state is printed alone on its line, with «not» before it if it does not hold. */
export function parseHdparmSecurity(text: string): EraseCapabilities['ata'] {
  const section = /^Security:\s*\n((?:[ \t]+.*\n?)*)/m.exec(text)?.[1];
  if (section === undefined) return undefined;
  const holds = (state: string) => new RegExp(`^\\s*${state}\\s*$`, 'm').test(section);
  return {
    supported: holds('supported'),
    enhanced: holds('supported: enhanced erase'),
    frozen: holds('frozen'),
    locked: holds('locked'),
    enabled: holds('enabled'),
  };
}
