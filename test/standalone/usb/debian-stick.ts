import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DiskFile } from '../../../lab/qemu/disk-file.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import type { DiskSpec, MachineSpec } from '../../../lab/qemu/machine-spec.ts';
import { GAVE_UP } from '../../../lab/qemu/micro-os.ts';
import { SSH_KEY } from '../config/example.ts';
import { ensureDebianImage } from './debian-image.ts';
import { snakeoilKeys } from './snakeoil.ts';
import { buildTestStick, hashOfDisk } from './test-stick.ts';

const CONFIG = `version: 1.0
operatingSystem:
  users: [{username: edge, password: c2VjcmV0c2VjcmV0}]
  sshKey: ${SSH_KEY}
  timezone: Europe/Berlin
  writeFiles:
    - {path: /etc/systemd/system/kindling-test.service, content: "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n"}
  services: {enable: [kindling-test]}
  runCommands:
    - |
      echo "CHECK user=$(getent passwd edge | cut -d: -f1,7) sudo=$(grep -hr '^edge ' /etc/sudoers.d | tr ' ' _) password=$(getent shadow edge | cut -d: -f2 | cut -c1-3) keys=$(grep -c ed25519 /home/edge/.ssh/authorized_keys) ssh=$(systemctl is-enabled ssh) service=$(systemctl is-active kindling-test) zone=$(readlink /etc/localtime) grown=$([ $(df -Pm / | awk 'NR == 2 {print $2}') -gt 700 ] && echo yes) CHECKED" > /dev/console
      echo "CLUSTER $(cat /root/k3s-called) cidr=$(sed -n 's/^service-cidr. //p' /etc/rancher/k3s/config.yaml) mode=$(stat -c %a /etc/rancher/k3s/config.yaml) CHECKED" > /dev/console
kubernetes:
  kind: KThreesControlPlaneTemplate
  apiVersion: controlplane.cluster.x-k8s.io/v1beta2
  spec: {template: {spec: {kthreesConfigSpec: {serverConfig: {serviceCidr: 10.60.0.0/16}}}}}
install: {confirm: none}
image: {file: debian.raw.zst, artifacts: artifacts}
nodes:
  - match: {serial: NODE-A}
    disk: {bus: nvme, wipeOthers: true}
    operatingSystem:
      hostname: node-a
      network: [{address: 192.0.2.10/24, gateway: 192.0.2.1}]
    install: {confirm: key}
  - match: {serial: NODE-B}
    disk: {bus: virtio}
    operatingSystem:
      hostname: node-b
      network: [{address: 192.0.2.20/24, gateway: 192.0.2.1}]
`;

/** K3s itself cannot be had here; what is called, with what, and what lies there, is the installer's side of it. */
const INSTALL_SCRIPT =
  'echo "called skip=$INSTALL_K3S_SKIP_DOWNLOAD exec=$INSTALL_K3S_EXEC program=$(/usr/local/bin/k3s) images=$(ls /var/lib/rancher/k3s/agent/images)" > /root/k3s-called\n';

/** A stick with a real Debian, in a folder of its own. */
export interface DebianStick extends Disposable {
  folder: string;
  file: string;
}

export async function makeDebianStick(): Promise<DebianStick> {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-debian-stick-'));
  const secureBoot = await snakeoilKeys(folder);
  const artifacts = join(folder, 'artifacts');
  mkdirSync(artifacts);
  symlinkSync(await ensureDebianImage(secureBoot), join(folder, 'debian.raw.zst'));
  writeFileSync(join(artifacts, 'install.sh'), INSTALL_SCRIPT);
  writeFileSync(join(artifacts, 'k3s'), '#!/bin/sh\necho k3s-runs\n');
  writeFileSync(join(artifacts, 'k3s-airgap-images-amd64.tar'), randomBytes(1e6));
  const file = await buildTestStick(folder, CONFIG, secureBoot);
  return { folder, file, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What becomes of the disks beside the target; they are erased only after somebody has read that and pressed a key. */
type OtherDisks = 'left alone' | 'erased';

const MIB = 1024 * 1024;
const WAIT = { timeoutMs: 480_000, failOn: GAVE_UP };

/** Boots a machine with the stick in, follows it to the end of its first boot, and says what it was seen to be. */
export async function installAndStart(
  { folder, file: stick }: DebianStick,
  name: string,
  target: DiskSpec['bus'],
  otherDisks: OtherDisks,
  changes: Partial<MachineSpec>,
): Promise<{ checks: string; cluster: string; report: Record<string, string>; medium: DiskFile }> {
  const buses = (['nvme', 'sata', 'virtio'] as const).filter((bus) => bus !== target);
  const others = buses.map((bus) => {
    const file = join(folder, `${name}-${bus}.img`);
    writeFileSync(file, randomBytes(4 * MIB));
    return { bus, file, serial: `DATA-${bus}` };
  });
  const hashes = () => Promise.all(others.map(({ file }) => hashOfDisk(file)));
  const before = await hashes();
  await using machine = await bootMachine({
    name,
    memoryMb: 768,
    nics: [{ model: 'virtio', network: 'silent' }],
    disks: [
      { bus: 'usb', file: stick, removable: true, bootIndex: 1 },
      ...others,
      { bus: target, size: '1G', serial: 'TARGET', bootIndex: 2 },
    ],
    ...changes,
  });
  if (otherDisks === 'erased') {
    await machine.console.waitFor(/press Enter to go on, or switch the machine off/, WAIT);
    for (const { serial } of others)
      expect(machine.console.text).toMatch(new RegExp(`erase .*destroys everything on .*serial ${serial}`));
    expect(await hashes()).toEqual(before);
    machine.console.type('\n');
  }
  await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"TARGET"/, WAIT);
  const checks = await machine.console.waitFor(/CHECK (.*) CHECKED/, WAIT);
  const cluster = await machine.console.waitFor(/CLUSTER (.*) CHECKED/, WAIT);
  const { groups } = await machine.console.waitFor(/KINDLING-FIRST-BOOT (\{.*\})/, WAIT);
  await machine.console.waitFor(/KINDLING-STICK-WRITTEN/, WAIT);
  await machine.powerCut();
  if (otherDisks === 'left alone') expect(await hashes()).toEqual(before);
  else for (const { file } of others) expect(await startsBlank(file)).toBe(true);
  return {
    checks: checks.groups[1] ?? '',
    cluster: cluster.groups[1] ?? '',
    report: JSON.parse(groups[1] ?? '{}'),
    medium: machine.disks[0] as DiskFile,
  };
}

async function startsBlank(file: string): Promise<boolean> {
  return (await new DiskFile(file).read(0, MIB)).every((byte) => byte === 0);
}

export const CHECKS =
  'user=edge:/bin/bash sudo=edge_ALL=(ALL)_NOPASSWD:ALL password=$6$ keys=1 ssh=enabled service=active zone=/usr/share/zoneinfo/Europe/Berlin grown=yes';
export const CLUSTER =
  'called skip=true exec=server program=k3s-runs images=k3s-airgap-images-amd64.tar cidr=10.60.0.0/16 mode=640';
