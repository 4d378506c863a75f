import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** Builds a made-up machine as a folder with /sys, /proc and /dev, the way the kernel lays them out. */
export class MadeUpMachine implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'kindling-zoo-'));

  file(path: string, content: string | Buffer): this {
    const full = join(this.root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    return this;
  }

  link(path: string, target: string): this {
    const full = join(this.root, path);
    mkdirSync(dirname(full), { recursive: true });
    mkdirSync(join(this.root, target), { recursive: true });
    symlinkSync(relative(dirname(full), join(this.root, target)), full);
    return this;
  }

  dmi(fields: Record<string, string>): this {
    for (const [name, value] of Object.entries(fields)) this.file(`/sys/class/dmi/id/${name}`, `${value}\n`);
    return this;
  }

  pci(address: string, fields: { vendor: string; device: string; class: string; driver?: string }): this {
    const folder = `/sys/devices/pci0000:00/${address}`;
    this.file(`${folder}/vendor`, fields.vendor)
      .file(`${folder}/device`, fields.device)
      .file(`${folder}/class`, fields.class)
      .file(`${folder}/modalias`, modalias(fields));
    if (fields.driver) this.link(`${folder}/driver`, `/sys/bus/pci/drivers/${fields.driver}`);
    return this.link(`/sys/bus/pci/devices/${address}`, folder);
  }

  /** Threads of one core follow each other by number, as on most boards. */
  cpu(options: {
    sockets: number;
    cores: number;
    threadsPerCore: number;
    fields: Record<string, string>;
    offline?: readonly number[];
  }): this {
    const { sockets, cores, threadsPerCore, fields, offline = [] } = options;
    const paragraphs: string[] = [];
    for (let thread = 0; thread < sockets * cores * threadsPerCore; thread += 1) {
      const core = Math.floor(thread / threadsPerCore);
      const folder = `/sys/devices/system/cpu/cpu${thread}`;
      this.file(`${folder}/topology/physical_package_id`, `${Math.floor(core / cores)}\n`);
      this.file(`${folder}/topology/core_id`, `${core % cores}\n`);
      if (thread > 0) this.file(`${folder}/online`, offline.includes(thread) ? '0\n' : '1\n');
      if (offline.includes(thread)) continue;
      const lines = Object.entries({ processor: String(thread), ...fields });
      paragraphs.push(lines.map(([name, value]) => `${name}\t: ${value}\n`).join(''));
    }
    return this.file('/proc/cpuinfo', `${paragraphs.join('\n')}\n`);
  }

  /** Memory blocks, of 128 MiB or (above 64 GiB) of 2 GiB, and what the kernel has left for programs. */
  memory(options: { blocks: number; blockMib?: 128 | 2048; usableKib: number }): this {
    const blockBytes = (options.blockMib ?? 128) * 1024 * 1024;
    this.file('/sys/devices/system/memory/block_size_bytes', `${blockBytes.toString(16)}\n`);
    for (let block = 0; block < options.blocks; block += 1)
      this.file(`/sys/devices/system/memory/memory${block}/state`, 'online\n');
    return this.file('/proc/meminfo', `MemTotal:       ${options.usableKib} kB\nMemFree:        1024 kB\n`);
  }

  /** What udev noted of a block device, by its number. */
  udev(device: string, fields: Record<string, string>): this {
    const lines = Object.entries(fields).map(([name, value]) => `E:${name}=${value}\n`);
    return this.file(`/run/udev/data/b${device}`, `S:disk/by-id/x\n${lines.join('')}`);
  }

  /** A network card below a device: `/sys/devices/pci0000:00/0000:00:03.0`. */
  nic(name: string, device: string, fields: Record<string, string>): this {
    const folder = `${device}/net/${name}`;
    const all = { type: '1', addr_assign_type: '0', mtu: '1500', ...fields };
    for (const [field, value] of Object.entries(all)) this.file(`${folder}/${field}`, `${value}\n`);
    return this.link(`${folder}/device`, device).link(`/sys/class/net/${name}`, folder);
  }

  /** A disk whose block folder hangs at `path` in /sys/devices; `device` holds the files of its parent. */
  disk(
    name: string,
    path: string,
    options: { mib: number; block?: Record<string, string>; device?: Record<string, string | Buffer> },
  ): this {
    const folder = `/sys/devices/${path}/block/${name}`;
    const parent = `/sys/devices/${path}`;
    const block = {
      size: String(options.mib * 2048),
      removable: '0',
      ro: '0',
      'queue/logical_block_size': '512',
      'queue/physical_block_size': '4096',
      'queue/rotational': '0',
      ...options.block,
    };
    for (const [field, value] of Object.entries(block)) this.file(`${folder}/${field}`, `${value}\n`);
    for (const [field, value] of Object.entries(options.device ?? {})) this.file(`${parent}/${field}`, value);
    this.link(`${folder}/device`, parent).link(`/sys/block/${name}`, folder);
    this.file(`/dev/${name}`, '');
    truncateSync(join(this.root, '/dev', name), options.mib * 1024 * 1024);
    return this;
  }

  efiVariable(name: string, value: Buffer, vendor = '8be4df61-93ca-11d2-aa0d-00e098032b8c'): this {
    return this.file(
      `/sys/firmware/efi/efivars/${name}-${vendor}`,
      Buffer.concat([Buffer.from([6, 0, 0, 0]), value]),
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

function modalias(fields: { vendor: string; device: string; class: string }): string {
  const digits = (text: string, count: number) =>
    Number(text).toString(16).toUpperCase().padStart(count, '0');
  const [, base, sub, program] = /^(..)(..)(..)$/.exec(digits(fields.class, 6).toLowerCase()) ?? [];
  const device = `v${digits(fields.vendor, 8)}d${digits(fields.device, 8)}`;
  return `pci:${device}sv00000000sd00000000bc${base}sc${sub}i${program}\n`;
}

/** A vital-data page as a SCSI disk gives it: header, then the payload. */
export function vitalDataPage(page: number, payload: Buffer): Buffer {
  const header = Buffer.from([0, page, 0, 0]);
  header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, payload]);
}
