import type { Machine } from '../../../lab/qemu/machine.ts';
import { waitFor } from '../../../system/wait.ts';

/** Pulls a device out of a running machine, and waits until it is gone. */
export async function unplug(machine: Machine, id: string): Promise<void> {
  const gone = () =>
    machine.events.filter(({ name, data }) => name === 'DEVICE_DELETED' && data['device'] === id);
  const before = gone().length;
  await machine.qmp.execute('device_del', { id });
  await waitFor(() => (gone().length > before ? true : undefined), {
    name: `${id} unplugged`,
    timeoutMs: 30_000,
    intervalMs: 50,
  });
}

/** Opens a raw image for a device to be plugged in; with `writeBytesPerSecond` it is a slow one. */
export async function insertImage(
  machine: Machine,
  node: string,
  file: string,
  options: { writeBytesPerSecond?: number } = {},
): Promise<void> {
  const raw = { driver: 'raw', file: { driver: 'file', filename: file } };
  const { writeBytesPerSecond } = options;
  if (writeBytesPerSecond === undefined) {
    await machine.qmp.execute('blockdev-add', { ...raw, 'node-name': node });
    return;
  }
  const group = `${node}-slow`;
  const limits = { 'bps-write': writeBytesPerSecond };
  await machine.qmp.execute('object-add', { 'qom-type': 'throttle-group', id: group, limits });
  await machine.qmp.execute('blockdev-add', {
    driver: 'throttle',
    'throttle-group': group,
    'node-name': node,
    file: raw,
  });
}

export async function plugStick(machine: Machine, id: string, node: string): Promise<void> {
  await machine.qmp.execute('device_add', {
    driver: 'usb-storage',
    id,
    bus: 'usb.0',
    drive: node,
    removable: true,
  });
}

export async function plugScsiDisk(
  machine: Machine,
  id: string,
  node: string,
  serial: string,
): Promise<void> {
  await machine.qmp.execute('device_add', { driver: 'scsi-hd', id, bus: 'scsi.0', drive: node, serial });
}
