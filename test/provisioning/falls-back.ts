import { expect } from 'vitest';
import { bootMachine } from '../../lab/qemu/machine.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { startSite } from '../../lab/site/site.ts';
import { waitFor } from '../../system/wait.ts';

const SERIAL = 'KNDPANIC01';
/** An operator's own cloud-init with a mistake in it: the kernel dies during the first boot, and restarts. */
const CLOUD_INIT = `#cloud-config
bootcmd:
  - [sh, -c, "echo 3 > /proc/sys/kernel/panic; sync; echo c > /proc/sysrq-trigger"]
`;
/** A tenth of it on an idle machine. */
const WAIT_MS = 900_000;
/** The panic is what these tests want to see. */
const NOTHING = /(?!)/;

/** The kernel's last words where the firmware kept them (OVMF does not always), and else what the disk tells. */
const REASON =
  /its kernel died: Kernel panic - not syncing: sysrq triggered crash|it stopped inside cloud-init, in init-network\/config-bootcmd/;

/** For a test that calls `expectToFallBack`. */
export const FALL_BACK_TIMEOUT_MS = 3 * WAIT_MS;

/** Installs the image on a machine. Its first boot panics; the Micro-OS is to come back, to say why, and not to write the disk again. */
export async function expectToFallBack(target: { zst: string; sha256: string }): Promise<void> {
  await using network = await createTestNetwork();
  const site = await startSite(network.bridge);
  const profile = site.write(
    'profile.yaml',
    JSON.stringify({
      name: 'broken',
      imageUrl: site.publish('image.raw.zst', target.zst),
      imageSha256: target.sha256,
      skipKernelUpgrade: true,
      cloudInit: CLOUD_INIT,
      variables: { BootPolicy: 'after-report' },
    }),
  );
  await site.kindling('profile', 'add', 'broken', '--file', profile, '--default');
  await site.kindling('node', 'register', '--serial', SERIAL, '--auto');
  await using node = await bootMachine({
    firmware: 'ovmf',
    memoryMb: 1024,
    disks: [{ bus: 'nvme', size: '2G', serial: 'DISK1' }],
    nics: [{ model: 'virtio', network: network.bridge }],
    smbios: { serial: SERIAL, manufacturer: 'Kindling', product: 'Test node', uuid: crypto.randomUUID() },
  });

  // 1 installed, and gone wrong
  const { mark: installed } = await node.console.waitFor(/reboot: Restarting system/, {
    timeoutMs: WAIT_MS,
  });
  const { mark: panicked } = await node.console.waitFor(/Kernel panic - not syncing: sysrq triggered crash/, {
    timeoutMs: WAIT_MS,
    after: installed,
    failOn: NOTHING,
  });

  // 2 back in the Micro-OS, which says why: on the console and at the orchestrator
  const { line } = await node.console.waitFor(/did not report its first boot: .*KND_FIRST_BOOT_FAILED/, {
    timeoutMs: WAIT_MS,
    after: panicked,
    failOn: NOTHING,
  });
  expect(line).toMatch(REASON);
  const status = await waitFor(
    async () => {
      const [host] = JSON.parse(await site.kindling('node', 'list', '--output', 'json')) as {
        statusText: string;
      }[];
      return host?.statusText.includes('KND_FIRST_BOOT_FAILED') ? host.statusText : undefined;
    },
    { name: 'the reason at the orchestrator', timeoutMs: 60_000, intervalMs: 1000 },
  );
  expect(status).toMatch(/^First Boot Failed: /);
  expect(status).toMatch(REASON);
  const log = await waitFor(
    async () => {
      const text = await site.kindling('node', 'logs', SERIAL);
      return text.includes('cloud-init: ') ? text : undefined;
    },
    { name: 'the evidence at the orchestrator', timeoutMs: 30_000, intervalMs: 1000 },
  );
  expect(log).toMatch(/cloud-init: .*bootcmd/);

  // 3 the same generation was written once, and is not offered again
  const workflows = JSON.parse(await site.kindling('workflow', 'list', '--output', 'json')) as {
    template: string;
    state: string;
  }[];
  expect(workflows.map(({ template, state }) => `${template} ${state}`).sort()).toEqual([
    'post-mortem SUCCESS',
    'ubuntu SUCCESS',
  ]);
  const sincePanic = node.console.lines.slice(panicked).map(({ text }) => text);
  expect(sincePanic.filter((text) => /erase-non-removable-disk|stream-os-image/.test(text))).toEqual([]);
}
