import type { ActionContext } from '../contract/action.ts';

/** No udev runs in the Micro-OS: LVM makes the device nodes itself, and waits for nobody. */
const ENVIRONMENT = { DM_DISABLE_UDEV: '1' };
const NO_UDEV = [
  '--config',
  'activation{udev_sync=0 udev_rules=0} devices{obtain_device_list_from_udev=0 external_device_info_source="none"}',
];

/** Runs one LVM command. */
export function lvm(
  context: Pick<ActionContext, 'run'>,
  args: readonly string[],
  okExitCodes: readonly number[] = [0],
) {
  const [command = '', ...rest] = args;
  return context.run('lvm', [command, ...NO_UDEV, ...rest], { env: ENVIRONMENT, okExitCodes });
}

/** The name of the volume group a device belongs to. */
export async function volumeGroupOn(
  context: Pick<ActionContext, 'run'>,
  device: string,
): Promise<string | undefined> {
  const { stdout, exitCode } = await lvm(context, ['pvs', '--noheadings', '-o', 'vg_name', device], [0, 5]);
  return exitCode === 0 ? stdout.trim() || undefined : undefined;
}

/** Makes a volume group over these devices; one of that name that already lies on the first is left as it is. */
export async function makeVolumeGroup(
  context: Pick<ActionContext, 'run'>,
  name: string,
  devices: readonly string[],
): Promise<void> {
  if ((await volumeGroupOn(context, devices[0] ?? '')) === name) return;
  for (const device of devices) await lvm(context, ['pvcreate', '-ff', '-y', device]);
  await lvm(context, ['vgcreate', name, ...devices]);
}
