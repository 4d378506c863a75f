import type { StickMachine } from '../../protocol/stick.ts';
import { hashPasswords } from '../cloud-init/hash-passwords.ts';
import { renderMachine } from '../cloud-init/render-machine.ts';
import type { EffectiveConfig } from '../config/nodes.ts';
import type { Config } from '../config/schema.ts';

/** What the manifest says about each machine: its files rendered, its passwords hashed. */
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
      artifacts: artifacts.map((name) => ({
        name: `artifacts/${name}`,
        path: `/opt/${name}`,
        mode: /(^|\/)(k3s|[^/]*\.sh)$/.test(name) ? '0755' : '0644',
      })),
    });
  }
  return result;
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
