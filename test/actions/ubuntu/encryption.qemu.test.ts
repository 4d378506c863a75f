import { copyFile, mkdtemp, rm, truncate } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { ensureEncryptableTarget } from '../../../lab/target-images/encryptable.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { numbersAndLabels, partitionsOn } from '../partitions-on.ts';

const LONG = 900_000;
/** Tells on the console what the installed system came up with. */
const REPORT = `[Unit]
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=tty
TTYPath=/dev/ttyS0
ExecStart=/bin/sh -c 'for m in / /boot /boot/efi /var/lib/rancher; do echo "UP $$m $$(findmnt -no SOURCE $$m)"; done; echo "UP swap $$(swapon --show=NAME --noheadings | xargs -r readlink -f)"; tpm2-initramfs-tool unseal --pcrs 15 -T device:/dev/tpmrm0 >/dev/null 2>&1; echo "UP unseal $$?"; echo UP end'
[Install]
WantedBy=multi-user.target
`;

let folder: string;
let server: Server;
let machine: Machine;
let shell: MicroOsShell;
let url: string;
const escrowed: { keyId: string; recoveryKey: string }[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-ubuntu-fde-'));
  const file = path.join(folder, 'disk.raw');
  await copyFile(await ensureEncryptableTarget(), file);
  await truncate(file, 60 * 2 ** 30);
  server = createServer(async (request, response) => {
    escrowed.push(JSON.parse(await text(request)));
    response.writeHead(201).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://10.0.2.2:${(server.address() as { port: number }).port}/escrow`;
  machine = await bootMachine({
    name: 'encryption of a mutable system',
    firmware: 'ovmf',
    memoryMb: 1024,
    tpm: true,
    disks: [{ bus: 'nvme', file, serial: 'SYSTEM1' }],
    nics: [{ model: 'virtio' }],
    kernel: await microOsKernel({ profile: 'full', cmdline: 'kindling.debug no_timer_check' }),
  });
  await ready();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  server?.close();
  if (folder) await rm(folder, { recursive: true });
});

async function ready() {
  shell = new MicroOsShell(machine);
  await machine.console.waitFor(/KINDLING-STAGE \{"stage":"network"/, { timeoutMs: 240_000 });
}

const done = async (name: string, variables: Record<string, string> = {}) => {
  const answer = await shell.action(name, variables, 600_000);
  expect({ name, ...answer }).toMatchObject({ name, exitCode: 0 });
  return answer.output;
};

/** On the console, where its progress can be seen. */
async function encryptUntil(pattern: RegExp): Promise<string | undefined> {
  const after = machine.console.mark();
  machine.console.type(`kindling-agent action fde_dmv --set KINDLING_ESCROW_URL=${url}; echo FDE''=$?\n`);
  const { groups } = await machine.console.waitFor(pattern, { after, timeoutMs: 800_000 });
  return groups[1];
}

async function upReport(): Promise<string[]> {
  await machine.console.waitFor(/UP end/, { timeoutMs: 400_000 });
  return machine.console.lines.flatMap(({ text: line }) => /(?<!\S)UP (?=[/a-z]).*\S/.exec(line)?.[0] ?? []);
}

describe('full disk encryption of a mutable system', () => {
  it('is hit by a power cut in the middle of the root', { timeout: LONG }, async () => {
    await done('writefile', {
      DEST_PATH: '/etc/systemd/system/report.service',
      CONTENTS: REPORT,
      MODE: '0644',
    });
    await done('cexec', { CHROOT: 'y', CMD_LINE: '/bin/systemctl enable report.service' });
    await encryptUntil(/^encrypting the root [3-9]/);
    expect(escrowed).toHaveLength(1);
    await machine.powerCut();
  });

  it('after it goes on with the same keys; actions after it still reach the system', {
    timeout: LONG,
  }, async () => {
    await machine.powerOn();
    await ready();
    expect(await encryptUntil(/FDE=(\d+)/)).toBe('0');
    expect(new Set(escrowed.map(({ keyId }) => keyId)).size).toBe(1);
    expect(await done('fde_dmv', { KINDLING_ESCROW_URL: url })).toContain('is encrypted already');
    await done('writefile', { DEST_PATH: '/etc/after-encryption', CONTENTS: 'reached' });
    expect(await done('kernelupgrd', { SKIP_KERNEL_UPGRADE: 'true' })).toContain('the disk is encrypted');
    expect((await shell.run('ls /dev/mapper')).output).not.toContain('crypt');
  });

  it('the installed system opens its volumes with the TPM, which then keeps the key', {
    timeout: LONG,
  }, async () => {
    await machine.powerCut();
    await machine.powerOn({ kernel: undefined });
    expect(await upReport()).toEqual([
      'UP / /dev/mapper/rootfs_crypt',
      'UP /boot /dev/nvme0n1p2',
      'UP /boot/efi /dev/nvme0n1p15',
      'UP /var/lib/rancher /dev/mapper/persistent_crypt[/rancher]',
      expect.stringMatching(/^UP swap \/dev\/dm-\d/),
      'UP unseal 1',
      'UP end',
    ]);
  });

  it('nothing readable is left on the disk', async () => {
    await machine.powerCut();
    const [disk] = machine.disks;
    const partitions = await partitionsOn(disk);
    expect(numbersAndLabels(partitions)).toEqual([
      '1 rootfs',
      '2 boot',
      '3 swap',
      '4 trusted_compute',
      '5 reserved',
      '6 persistent',
      '15 ESP',
    ]);
    for (const number of [1, 5]) {
      const part = partitions.find((each) => each.number === number);
      const bytes = (await disk?.read(part?.startBytes ?? 0, 400 << 20)) ?? Buffer.alloc(0);
      expect(bytes.includes('multi-user.target')).toBe(false);
    }
  });
});
