import { expect, it } from 'vitest';
import { waitFor } from '../../agent/system/wait.ts';
import { bootMachine } from '../qemu/machine.ts';
import { createTestNetwork } from '../qemu/network.ts';
import { ensureMutableTarget } from '../target-images/mutable.ts';
import { startSite } from './site.ts';

const SERIAL = 'KNDE2E0001';
const TOLD_BY_THE_INSTALLED_SYSTEM = /kindling-check user=edge hostname=host-\w+ root=(\d+)/;

/** What the installed system says about itself once cloud-init is through: written into its user-data by the profile. */
const CHECK = `#cloud-config
runcmd:
  - [sh, -c, 'echo "kindling-check user=$(id -un edge) hostname=$(hostname) root=$(df -m --output=size / | tail -1 | tr -d " ")" > /dev/ttyS0']
`;

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
      customConfigs: [{ name: 'check', content: CHECK }],
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
  const { groups } = await node.console.waitFor(TOLD_BY_THE_INSTALLED_SYSTEM, { timeoutMs: 300_000 });
  expect(Number(groups[1]), 'the root file system has grown to the disk').toBeGreaterThan(1500);

  await waitFor(
    async () => {
      const [host] = JSON.parse(await site.kindling('node', 'list', '--output', 'json')) as {
        status: string;
      }[];
      return host?.status === 'Running' || undefined;
    },
    { name: 'the first-boot report', timeoutMs: 90_000, intervalMs: 2000 },
  );
}, 900_000);
