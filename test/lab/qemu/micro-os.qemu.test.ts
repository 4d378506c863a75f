import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import type { DiskSpec, MachineSpec } from '../../../lab/qemu/machine-spec.ts';
import { microOsKernel, waitForStage } from '../../../lab/qemu/micro-os.ts';
import { leftovers, makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';
import { type Stub, startStub } from '../../../orchestrator-stub/serve.ts';
import type { Inventory } from '../../../protocol/inventory.ts';
import { waitFor } from '../../../system/wait.ts';

// Few boots, many checks: without KVM each costs a quarter of a minute.
const boot = { timeoutMs: 150_000 };
const stateFolder = makeFolder('micro-os-test');
let stub: Stub;
let server: string;

beforeAll(async () => {
  await microOsKernel();
  stub = await startStub({ stateFolder, host: '127.0.0.1', port: false, plainPort: 0 });
  server = `http://10.0.2.2:${new URL(stub.urls.http).port}`;
});

afterAll(async () => {
  await stub.close();
  removeFolder(stateFolder);
  expect(leftovers()).toEqual([]);
});

async function bootMicroOs(spec: MachineSpec, cmdline: string): Promise<Machine> {
  return bootMachine({ ...spec, kernel: await microOsKernel({ cmdline }) });
}

/** What the orchestrator knows of a node, as the node itself reported it; the report goes out beside the rest of the agent. */
async function reportedInventory(serial: string): Promise<Inventory> {
  return waitFor(
    async () => {
      const response = await fetch(`${stub.urls.http}/api/v1/nodes/${serial}`);
      return response.ok ? ((await response.json()) as { inventory: Inventory }).inventory : undefined;
    },
    { name: `the discovery report of ${serial}`, timeoutMs: 60_000 },
  );
}

const DISKS: DiskSpec[] = [
  { bus: 'virtio', size: '1G', serial: 'VIRTIO-1' },
  { bus: 'nvme', size: '2G', serial: 'NVME-2' },
  { bus: 'sata', size: '3G', serial: 'SATA-3' },
  { bus: 'scsi', size: '4G', serial: 'SCSI-4', wwn: '0x5000c50015ea71ac' },
  { bus: 'usb', size: '5G', serial: 'USB-5' },
  { bus: 'nvme', size: '6G', serial: 'NVME-4K', logicalSectorBytes: 4096 },
];

describe('the Micro-OS on UEFI with 384 MB', () => {
  it('reports every disk and NIC, and the agent comes back when it is killed', async () => {
    await using machine = await bootMicroOs(
      {
        firmware: 'ovmf',
        memoryMb: 384,
        disks: DISKS,
        nics: [{ model: 'e1000' }, { model: 'virtio' }, { model: 'rtl8139' }],
        smbios: { serial: 'UEFI-384', manufacturer: 'Acme, Inc.', product: 'Edge 1' },
      },
      `kindling.debug kindling.server=${server}`,
    );
    await waitForStage(machine, 'identity', boot);
    await waitForStage(machine, 'run', boot);

    const { identity, disks, nics, firmware, memory } = await reportedInventory('UEFI-384');
    expect(identity).toMatchObject({ serial: 'UEFI-384', manufacturer: 'Acme, Inc.', product: 'Edge 1' });
    expect(firmware.kind).toBe('uefi');
    expect(memory.totalBytes).toBeLessThan(384 * 2 ** 20);
    const found = disks.map(({ bus, serial, sizeBytes, logicalSectorBytes }) => {
      return { bus, serial, size: `${sizeBytes / 2 ** 30}G`, logicalSectorBytes };
    });
    expect(found).toHaveLength(DISKS.length);
    for (const { bus, serial, size, logicalSectorBytes = 512 } of DISKS) {
      expect(found).toContainEqual({ bus, serial, size, logicalSectorBytes });
    }
    expect(disks.find(({ serial }) => serial === 'SCSI-4')?.wwn).toContain('5000c50015ea71ac');
    expect(nics.map(({ driver }) => driver).sort()).toEqual(['8139cp', 'e1000', 'virtio_net']);
    for (const nic of nics) expect(nic.addresses.join(' '), nic.driver).toContain('10.0.2.15');

    const after = machine.console.mark();
    machine.console.type('kill -9 $(pidof kindling-agent)\n');
    const { mark } = await machine.console.waitFor(/KND_AGENT_DIED.* 137/, { timeoutMs: 90_000, after });
    await waitForStage(machine, 'run', { ...boot, after: mark });
  });
});

describe('the Micro-OS on BIOS with 384 MB', () => {
  it('says what is wrong with identity, clock, cable and DHCP, each with its code, and goes on once it is right', async () => {
    await using machine = await bootMicroOs(
      {
        firmware: 'seabios',
        memoryMb: 384,
        clock: '2001-09-09T01:46:40',
        smbios: { serial: 'To be filled by O.E.M.', uuid: '03000200-0400-0500-0006-000700080009' },
        nics: [
          { model: 'virtio', link: 'down' },
          { model: 'e1000', network: 'silent', link: 'down' },
        ],
      },
      `kindling.server=${server} kindling.net_timeout=5`,
    );
    const notice = (code: string, after = 0) =>
      machine.console.waitFor(new RegExp(`KINDLING-NOTICE .*"${code}"`), { ...boot, after });
    const fatal = (code: string, after: number) =>
      machine.console.waitFor(new RegExp(`KINDLING-FATAL .*"${code}"`), { ...boot, after });

    const { atMs: junkAtMs } = await notice('KND_IDENTITY_JUNK');
    const { atMs: clockAtMs, mark } = await notice('KND_CLOCK_WRONG');
    expect(junkAtMs).toBeLessThan(clockAtMs);

    const noLink = await fatal('KND_NET_NO_LINK', mark);
    await machine.console.waitFor(/Check the cable/, { ...boot, after: noLink.mark });

    await machine.setLink(1, 'up');
    machine.console.type('r');
    const noDhcp = await fatal('KND_NET_NO_DHCP', noLink.mark);

    await machine.setLink(0, 'up');
    machine.console.type('r');
    const network = await waitForStage(machine, 'network', { ...boot, after: noDhcp.mark });
    expect(network.facts).toMatchObject({ address: '10.0.2.15' });
    await waitForStage(machine, 'run', boot);
  });
});
