import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { extendPcr15 } from '../../../actions/ubuntu/unlock-files.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { readPartitionTable } from '../../../protocol/partition-table/read.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { buildTestImage, type TestImage } from '../test-image.ts';

const BOOT_UUID = '11111111-2222-4333-8444-555555555555';
/** Forty starts of cryptsetup on a machine without acceleration, perhaps beside another one. */
const LONG = 900_000;
const UNSEAL = 'tpm2-initramfs-tool unseal --pcrs 15 -T device:/dev/tpmrm0';

let folder: string;
let image: TestImage;
let server: Server;
let machine: Machine;
let shell: MicroOsShell;
let url: string;
/** What the escrow was given, in order; and what it answers. */
const escrowed: { keyId: string; recoveryKey: string; disk: { serial?: string } }[] = [];
let escrowStatus = 201;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-fde-'));
  const loader = path.join(folder, 'kernel.efi');
  await writeFile(loader, `${'\0'.repeat(100_000)}quiet boot_uuid=${BOOT_UUID} ro\0`);
  image = await buildTestImage({ loader, loaderPath: 'EFI/Linux/kernel.efi', persistent: true });
  server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      escrowed.push(JSON.parse(await text(request)));
      response.writeHead(escrowStatus).end('{}');
    } else createReadStream(image.raw).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://10.0.2.2:${(server.address() as { port: number }).port}`;
  machine = await bootMachine({
    name: 'full disk encryption',
    memoryMb: 1024,
    tpm: true,
    disks: [
      { bus: 'nvme', size: '34G', serial: 'SYSTEM1' },
      { bus: 'virtio', size: '128M', serial: 'DATA1' },
    ],
    nics: [{ model: 'virtio' }],
    kernel: await microOsKernel({ profile: 'full', cmdline: 'kindling.debug' }),
  });
  await ready();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  server?.close();
  await image?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true });
});

async function ready() {
  shell = new MicroOsShell(machine);
  await machine.console.waitFor(/KINDLING-STAGE \{"stage":"network"/, { timeoutMs: 240_000 });
}

async function done(command: string) {
  const answer = await shell.run(command, 240_000);
  expect({ command, ...answer }).toMatchObject({ command, exitCode: 0 });
  return answer.output;
}

const encrypt = (variables: Record<string, string> = {}) =>
  shell.action(
    'fde_dmv',
    { KINDLING_DISK: 'serial=SYSTEM1', KINDLING_ESCROW_URL: `${url}/escrow`, ...variables },
    600_000,
  );

describe('full disk encryption', () => {
  it('is refused before anything is touched when nobody takes the recovery key', async () => {
    expect(await shell.action('image2disk', { IMG_URL: url, KINDLING_DISK: 'serial=SYSTEM1' })).toMatchObject(
      { exitCode: 0 },
    );
    const none = await encrypt({ KINDLING_ESCROW_URL: '' });
    expect(none.output).toContain('KND_ESCROW_NONE');
    escrowStatus = 403;
    const refused = await encrypt();
    expect(refused.output).toContain('KND_ESCROW_FAILED');
    expect(refused.output).not.toContain(escrowed[0]?.recoveryKey);
    escrowStatus = 201;
    escrowed.length = 0;
    expect(await done('ls /dev/nvme0n1p*')).not.toContain('nvme0n1p4');
  });

  it('is killed while it makes volumes, and then hit by a power cut in the middle of the root', {
    timeout: LONG,
  }, async () => {
    const command = `kindling-agent action fde_dmv --set KINDLING_DISK=serial=SYSTEM1 --set KINDLING_ESCROW_URL=${url}/escrow`;
    const runUntil = async (stage: RegExp) => {
      const after = machine.console.mark();
      machine.console.type(`${command} & p=$!\n`);
      await machine.console.waitFor(stage, { after, timeoutMs: 600_000 });
    };
    await runUntil(/^encrypting rootfs_b_crypt/);
    await done('kill -9 $p; sleep 1');
    await runUntil(/^encrypting the root 16/);
    await machine.powerCut();
  });

  it('after the power cut goes on where it was, with the same keys', { timeout: LONG }, async () => {
    await machine.powerOn();
    await ready();
    expect(await encrypt()).toMatchObject({ exitCode: 0, output: expect.stringContaining('is encrypted') });
    expect(await done('ls /dev/mapper')).not.toMatch(/crypt|emt|ver_/);
    expect(escrowed).toHaveLength(3);
    expect(new Set(escrowed.map(({ keyId }) => keyId)).size).toBe(1);
    expect(escrowed[0]?.disk.serial).toBe('SYSTEM1');
  });

  it('defect 16: opens with the TPM after a reboot, and with the recovery key; the root hash is behind it', {
    timeout: LONG,
  }, async () => {
    await machine.powerCut();
    await machine.powerOn();
    await ready();
    const open = (number: number, name: string) =>
      done(`${UNSEAL} | DM_DISABLE_UDEV=1 cryptsetup open --key-file - /dev/nvme0n1p${number} ${name}`);
    await open(2, 'rootfs_crypt');
    await open(3, 'emt_persistent');
    await open(4, 'hashes');
    await open(7, 'roothash');
    await done(
      'mkdir -p /tmp/r /tmp/s /tmp/h; mount -t ext4 -o ro /dev/mapper/rootfs_crypt /tmp/r; mount -t ext4 /dev/mapper/emt_persistent /tmp/s; mount -t ext4 /dev/mapper/roothash /tmp/h',
    );
    expect(await done('cat /tmp/r/etc/fstab /tmp/r/etc/os-release')).toMatch(
      /swap_crypt none swap[\s\S]*ID=test/,
    );
    expect(await done('df -Pm /tmp/s | tail -1')).toMatch(/emt_persistent\s+[1-9]\d{3}/);
    await done(
      'umount /tmp/r; veritysetup verify /dev/mapper/rootfs_crypt /dev/mapper/hashes $(cat /tmp/h/part_a_roothash)',
    );
    expect(await done('cryptsetup luksUUID /dev/nvme0n1p2')).toContain(BOOT_UUID);
    expect(await done('cryptsetup luksDump /dev/nvme0n1p6')).toContain('kindling-escrow');
    const last = escrowed.at(-1);
    for (const device of ['nvme0n1p2', 'nvme0n1p3', 'nvme0n1p6', 'nvme0n1p8', 'vda1']) {
      await done(
        `printf %s '${last?.recoveryKey}' | cryptsetup open --test-passphrase --key-file - /dev/${device}`,
      );
    }
    const wrong = await shell.run(
      `printf %s x | cryptsetup open --test-passphrase --key-file - /dev/nvme0n1p2`,
    );
    expect(wrong.exitCode).not.toBe(0);
  });

  it('the TPM keeps the key once the booted system has filled PCR 15', async () => {
    // TPM2_PCR_Extend (TPM 2.0 library part 3, 22.2) of PCR 15 with an empty password and 32 bytes of ff.
    await done(
      `printf '${[...Buffer.from(extendPcr15())].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}' > /tmp/extend; exec 3<>/dev/tpmrm0; cat /tmp/extend >&3; head -c 10 <&3 >/dev/null; exec 3>&-`,
    );
    expect((await shell.run(UNSEAL)).exitCode).not.toBe(0);
  });

  it('leaves nothing readable on the disk', async () => {
    await machine.powerCut();
    const [disk] = machine.disks;
    const table =
      disk && (await readPartitionTable((at, length) => disk.read(at, length), await disk.size()));
    expect(table?.partitions.map(({ number, partLabel }) => `${number} ${partLabel}`)).toEqual([
      '1 esp',
      '2 rootfs',
      '3 edge_persistent',
      '4 hashmap_a',
      '5 hashmap_b',
      '6 rootfs_b',
      '7 roothash',
      '8 swap',
      '9 tep',
      '10 reserved',
    ]);
    const part = (number: number) => table?.partitions.find((each) => each.number === number);
    // Root, hash tree, root hash and the copies on the way.
    for (const number of [2, 4, 7, 10]) {
      const { startBytes = 0, sizeBytes = 0 } = part(number) ?? {};
      const bytes = (await disk?.read(startBytes, Math.min(sizeBytes, 64 << 20))) ?? Buffer.alloc(0);
      expect(bytes.length).toBeGreaterThan(0);
      expect(bytes.includes('part_a_roothash')).toBe(false);
      expect(bytes.includes('ID=test')).toBe(false);
      expect(bytes.includes('edge_persistent')).toBe(false);
    }
  });
});
