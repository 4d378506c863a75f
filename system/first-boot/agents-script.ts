import { readOwnText } from '../own-file.ts';
import { withSettings } from './settings.ts';

/** Where the script notes that the agents run: on immutable systems only /etc lasts. */
export const AGENTS_MARKER = '/etc/kindling/agents-started';

/** How an installed system starts its agents; see agents.sh for each. */
export interface AgentsSettings {
  url: string;
  ca: string;
  retrySeconds: number;
  installer?: { unit: string; doneFile: string };
  owner: string;
  credentials: string;
  services: readonly string[];
  steadySeconds: number;
}

/** The script that starts the agents of an installed system and reports how they fare. */
export function agentsScript(settings: AgentsSettings): string {
  return withSettings(
    readOwnText('system/first-boot/report.sh') + readOwnText('system/first-boot/agents.sh'),
    {
      url: settings.url,
      ca: settings.ca,
      retry_seconds: settings.retrySeconds.toString(),
      installer_unit: settings.installer?.unit,
      installer_done: settings.installer?.doneFile,
      owner: settings.owner,
      credentials: settings.credentials,
      services: settings.services.join(' '),
      steady_seconds: settings.steadySeconds.toString(),
    },
  );
}

/** The installer of a profile that names packages and has no script of its own. */
export function installAgentsScript(packages: readonly string[], doneFile: string): string {
  return withSettings(readOwnText('system/first-boot/install-agents.sh'), {
    packages: packages.join(' '),
    installer_done: doneFile,
  });
}
