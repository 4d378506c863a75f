import { readOwnText } from '../own-file.ts';
import { shellQuote } from '../shell-quote.ts';

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
  remove?: readonly string[];
}

/** The script that an installed system runs on its first boot. */
export function firstBootScript(settings: FirstBootSettings): string {
  const values: Record<string, string | undefined> = {
    url: settings.url,
    ca: settings.ca,
    retry_seconds: settings.retrySeconds?.toString(),
    commits_boot_order: settings.commitsBootOrder ? 'yes' : undefined,
    boot_order_url: settings.bootOrderUrl,
    stick_label: settings.stickLabel,
    node_id: settings.nodeId,
    k3s_done: settings.k3sDone,
    remove: settings.remove?.join(' '),
  };
  return Object.entries(values).reduce(
    (script, [name, value = '']) =>
      script.replace(new RegExp(`^${name}=''(?=\\s)`, 'm'), () => `${name}=${shellQuote(value)}`),
    readOwnText('system/first-boot/first-boot.sh'),
  );
}
