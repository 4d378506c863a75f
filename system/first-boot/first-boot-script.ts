import { readOwnText } from '../own-file.ts';
import { withSettings } from './settings.ts';

/** Where the script notes that it has reported: on immutable systems only /etc lasts. */
export const FIRST_BOOT_MARKER = '/etc/kindling/first-boot-reported';

/** What an installed system does on its first boot; see first-boot.sh for each. */
export interface FirstBootSettings {
  url?: string;
  ca?: string;
  retrySeconds?: number;
  commitsBootOrder?: boolean;
  bootOrderUrl?: string;
  stickLabel?: string;
  nodeId?: string;
  k3sDone?: string;
  hasAgents?: boolean;
  remove?: readonly string[];
}

/** The script that an installed system runs on its first boot. */
export function firstBootScript(settings: FirstBootSettings): string {
  return withSettings(
    readOwnText('system/first-boot/report.sh') + readOwnText('system/first-boot/first-boot.sh'),
    {
      url: settings.url,
      ca: settings.ca,
      retry_seconds: settings.retrySeconds?.toString(),
      commits_boot_order: settings.commitsBootOrder ? 'yes' : undefined,
      boot_order_url: settings.bootOrderUrl,
      stick_label: settings.stickLabel,
      node_id: settings.nodeId,
      k3s_done: settings.k3sDone,
      has_agents: settings.hasAgents ? 'yes' : undefined,
      remove: settings.remove?.join(' '),
    },
  );
}
