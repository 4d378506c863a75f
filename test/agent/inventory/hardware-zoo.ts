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
      .file(`${folder}/class`, fields.class);
    if (fields.driver) this.link(`${folder}/driver`, `/sys/bus/pci/drivers/${fields.driver}`);
    return this.link(`/sys/bus/pci/devices/${address}`, folder);
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

/** A vital-data page as a SCSI disk gives it: header, then the payload. */
export function vitalDataPage(page: number, payload: Buffer): Buffer {
  const header = Buffer.from([0, page, 0, 0]);
  header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, payload]);
}
