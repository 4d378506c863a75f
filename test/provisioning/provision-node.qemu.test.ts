import { execa } from 'execa';
import { expect, it } from 'vitest';
import { waitFor } from '../../agent/system/wait.ts';
import { bootMachine } from '../../lab/qemu/machine.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { startSite } from './site.ts';

const SERIAL = 'KNDE2E0001';
/** Where the root of the target image starts: the ESP before it has 48 MiB. */
const ROOT_OFFSET = 49 * 2 ** 20;

it('an empty machine becomes a running node: PXE, onboarding, template «ubuntu», reboot, cloud-init, first-boot report', async () => {
  const target = await ensureMutableTarget();
  await using network = await createTestNetwork();
  using site = await startSite(network.bridge);
  const profile = site.write(
    'profile.yaml',
    JSON.stringify({
      name: 'debian',
      imageUrl: site.publish('debian.raw.zst', target.zst),
      imageSha256: target.sha256,
      skipKernelUpgrade: true,
      localAccount: {
        user: 'edge',
        sshKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKindlingKindlingKindlingKindlingKindling edge',
      },
    }),
  );
  await site.kindling('profile', 'add', 'debian', '--file', profile, '--default');
  await site.kindling('node', 'register', '--serial', SERIAL, '--auto');

  await using node = await bootMachine({
    firmware: 'ovmf',
    memoryMb: 1024,
    cpus: 2,
    disks: [{ bus: 'nvme', size: '2G', serial: 'DISK1' }],
    nics: [{ model: 'virtio', network: network.bridge }],
    smbios: { serial: SERIAL, manufacturer: 'Kindling', product: 'Test node', uuid: crypto.randomUUID() },
  });

  await node.console.waitFor(/NBP file downloaded successfully/, { timeoutMs: 120_000 });
  await node.console.waitFor(/stream-os-image: .* limited by/, { timeoutMs: 240_000 });
  await node.console.waitFor(/reboot: Restarting system/, { timeoutMs: 240_000 });
  await waitFor(
    async () => {
      const [host] = JSON.parse(await site.kindling('node', 'list', '--output', 'json')) as {
        status: string;
      }[];
      return host?.status === 'Running' || undefined;
    },
    { name: 'the first-boot report', timeoutMs: 300_000, intervalMs: 3000 },
  );
  // cloud-init did what the user-data said: host name, user with key, and the root grown to the disk.
  await node.console.waitFor(/host-\w+ login:/, { timeoutMs: 60_000 });
  await node.qmp.execute('system_powerdown');
  await node.waitForPowerOff({ timeoutMs: 120_000 });
  const installed = `${node.disks[0]?.path}?offset=${ROOT_OFFSET}`;
  const read = async (command: string) => (await execa('debugfs', ['-R', command, installed])).stdout;
  expect(await read('cat /etc/passwd')).toContain('edge:x:');
  expect(await read('cat /home/edge/.ssh/authorized_keys')).toContain('ssh-ed25519');
  const blocks = Number(/Block count:\s+(\d+)/.exec(await read('show_super_stats -h'))?.[1]);
  expect(blocks, 'blocks of the root file system, 1 KiB each').toBeGreaterThan(1_500_000);
}, 900_000);
