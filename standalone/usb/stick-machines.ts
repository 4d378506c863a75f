import type { Profile } from '../../initrd/index.ts';
import type { StickMachine } from '../../protocol/stick.ts';
import { hashPasswords } from '../cloud-init/hash-passwords.ts';
import { renderMachine } from '../cloud-init/render-machine.ts';
import type { EffectiveConfig } from '../config/nodes.ts';
import type { Config } from '../config/schema.ts';

/** What the manifest says about each machine: its files rendered, its passwords hashed. `artifacts` are names in the payload. */
export async function stickMachines(
  machines: readonly EffectiveConfig[],
  artifacts: readonly string[],
): Promise<StickMachine[]> {
  const result: StickMachine[] = [];
  for (const { match, refuse, config } of machines) {
    const rendered = renderMachine(await hashPasswords(config), { reportsFirstBoot: true });
    const hostname = config.operatingSystem?.hostname;
    result.push({
      match: match === 'default' ? match : (match as Exclude<StickMachine['match'], 'default'>),
      refuse,
      configId: rendered.configId,
      diskSelector: diskSelector(config.disk),
      wipeOthers: config.disk?.wipeOthers ?? false,
      confirm: config.install?.confirm ?? 'countdown',
      countdownSeconds: config.install?.countdownSeconds ?? 10,
      after: config.install?.after ?? 'reboot',
      userData: rendered.userData,
      networkConfig: rendered.networkConfig,
      ...(hostname === undefined ? {} : { hostname }),
      targetKind: rendered.targetKind,
      ...protection(config),
      artifacts: artifacts.map((name) => ({
        name,
        path: name.replace(/^artifacts\//, '/opt/'),
        mode: /\/(k3s|[^/]*\.sh)$/.test(name) ? '0755' : '0644',
      })),
    });
  }
  return result;
}

/** An Edge Microvisor image gets its slots, its seal and its volume group in one step; another image only the volume group. */
function protection({ image, operatingSystem }: Config): Pick<StickMachine, 'seal' | 'lvmGigabytes'> {
  const lvmGigabytes = operatingSystem?.lvmSizeGiB ?? 0;
  const wish = image?.protection ?? (image?.profile === 'emt' ? 'verity' : 'none');
  if (wish !== 'none') return { seal: { isEncrypted: wish === 'encryption', lvmGigabytes } };
  return lvmGigabytes > 0 ? { lvmGigabytes } : {};
}

/** LVM and encryption are only in the larger Micro-OS. */
export function microOsFor(machines: readonly Pick<StickMachine, 'seal' | 'lvmGigabytes'>[]): Profile {
  const needsMore = machines.some(
    ({ seal, lvmGigabytes }) => seal?.isEncrypted || seal?.lvmGigabytes || lvmGigabytes,
  );
  return needsMore ? 'full' : 'minimal';
}

/** The disk section as the disk engine's selector. Nothing given means: the only internal disk there is. */
export function diskSelector(disk: Config['disk'] = {}): string {
  const quoted = (text: string) => (/[\s,]/.test(text) ? `"${text}"` : text);
  const terms = [
    ...(disk.serial === undefined ? [] : [`serial=${quoted(disk.serial)}`]),
    ...(disk.wwn === undefined ? [] : [`wwn=${quoted(disk.wwn)}`]),
    ...(disk.model === undefined ? [] : [`model=${quoted(disk.model)}`]),
    ...(disk.link === undefined ? [] : [`path=${quoted(disk.link.replace(/^\/dev\/disk\//, ''))}`]),
    ...(disk.bus === undefined ? [] : [`bus=${disk.bus}`]),
    ...(disk.minSizeGiB === undefined ? [] : [`size>=${disk.minSizeGiB}Gi`]),
    ...(disk.maxSizeGiB === undefined ? [] : [`size<=${disk.maxSizeGiB}Gi`]),
    ...(disk.rotational === undefined ? [] : [disk.rotational ? 'hdd' : 'ssd']),
    ...(disk.pick === 'smallest' || disk.pick === 'largest' ? [disk.pick] : []),
  ];
  return terms.length > 0 ? terms.join(' ') : 'size>0';
}
