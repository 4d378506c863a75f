import { expect, test } from 'vitest';
import { waitForDevices } from '../../../agent/boot/devices.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import type { Run } from '../../../system/run.ts';
import { MadeUpMachine } from '../inventory/hardware-zoo.ts';
import { recordingView } from './recording-view.ts';

test('a controller that appears late gets its driver, and the disk behind it is waited for', async () => {
  using box = new MadeUpMachine()
    .pci('0000:00:05.0', { vendor: '0x14e4', device: '0x16d7', class: '0x020000' })
    .file('/run/kindling/modaliases', 'none\nusb:known\n')
    .file('/sys/devices/usb1/modalias', 'usb:known')
    .file('/sys/devices/usb2/modalias', 'usb:new')
    .link('/sys/bus/usb/devices/1-1', '/sys/devices/usb1')
    .link('/sys/bus/usb/devices/2-1', '/sys/devices/usb2');
  const calls: string[] = [];
  const run: Run = async (program, args) => {
    calls.push([program, ...args].join(' '));
    box.disk('sda', 'usb2/host0/target0:0:0/0:0:0:0', { mib: 1 });
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 0 };
  };
  const { view, lines, waits, notices } = recordingView();
  await waitForDevices(machineFiles(box.root), run, view);
  expect(calls).toEqual(['modprobe -aqb pci:v000014E4d000016D7sv00000000sd00000000bc02sc00i00 usb:new']);
  expect(lines[0]).toBe('devices: disks: sda; network cards: none');
  expect(lines[1]).toBe('devices: no driver for the network card 14e4:16d7 at 0000:00:05.0');
  expect(notices).toEqual([]);
  expect([...waits]).toEqual([]);
});
