import { expect, test } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';

const patience = { timeoutMs: 150_000 };

// One boot, many checks: without KVM each costs a quarter of a minute.
test('a bond with a VLAN on it, two consoles, and one action whose result is printed before the machine switches itself off', async () => {
  const cmdline = [
    'console=ttyS1,115200 console=ttyS0,115200',
    'bond=bond0:eth0,eth1:mode=active-backup,miimon=100 ip=bond0:dhcp',
    'vlan=bond0.7:bond0 ip=10.7.0.5::10.7.0.1:255.255.255.0:node7:bond0.7:none:10.7.0.8',
    'kindling.action=writefile kindling.set.DEST_DISK=base64url:L2Rldi9ub25l',
  ].join(' ');
  const kernel = await microOsKernel({ cmdline });
  await using machine = await bootMachine({
    name: 'bond, VLAN, action',
    memoryMb: 384,
    secondSerial: true,
    disks: [{ bus: 'nvme', size: '64M', serial: 'A1' }],
    nics: [{ model: 'virtio' }, { model: 'virtio' }],
    kernel,
  });
  await machine.console.waitFor(/bond0: 10\.0\.2\.15\/24 via 10\.0\.2\.2 \(dhcp\)/, patience);
  await machine.console.waitFor(/bond0\.7: 10\.7\.0\.5\/24 via 10\.7\.0\.1 \(fixed\)/, patience);
  const { groups } = await machine.console.waitFor(/KINDLING-RESULT (\{.*"uptime":[\d.]+\})/, patience);
  expect(JSON.parse(groups[1] ?? '')).toMatchObject({
    action: 'writefile',
    status: 'failed',
    exitCode: 2,
    error: { code: 'KND_ACTION_VARIABLES' },
  });
  await machine.waitForPowerOff();
  const second = machine.secondConsole.lines.map(({ text }) => text).join('\n');
  expect(second).toContain('bond0: bond of eth0, eth1');
  expect(second).toContain('KINDLING-RESULT');
});
