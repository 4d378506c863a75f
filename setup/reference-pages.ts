import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS, type Setting } from '../agent/config/settings.ts';
import { markdownTable } from '../formats/markdown-table.ts';
import { httpApiPage } from '../orchestrator-stub/http/api/reference-page.ts';
import { rolesPage } from '../orchestrator-stub/http/roles-page.ts';
import { metricsPage } from '../orchestrator-stub/metrics/metrics-page.ts';
import { ERROR_CODES } from '../protocol/error-codes.ts';
import { FLOOR_GROUPS, NODE_STATUSES } from '../protocol/floor.ts';
import { conformancePage } from './conformance/conformance.ts';
import { docsIndexPage } from './docs-index.ts';
import { layoutPage } from './folders.ts';
import { whatWeBelievePage } from './what-we-believe.ts';

/** Pages, mostly of docs/reference, that are made from tables in the code; `node setup/reference-pages.ts` writes them anew. */
export const REFERENCE_PAGES: Record<string, () => string> = {
  'conformance.md': conformancePage,
  'errors.md': errorsPage,
  'agent-config.md': agentConfigPage,
  'http-api.md': httpApiPage,
  'layout.md': layoutPage,
  'metrics.md': metricsPage,
  'node-statuses.md': nodeStatusesPage,
  'roles.md': rolesPage,
  '../explanation/what-we-believe.md': whatWeBelievePage,
  '../README.md': docsIndexPage,
};

const EXIT_CLASSES = {
  1: 'failed',
  2: 'usage or invalid config',
  3: 'environment',
  4: 'refused for safety',
} as const;

function errorsPage(): string {
  const entries = Object.entries(ERROR_CODES).toSorted(([a], [b]) => a.localeCompare(b, 'en'));
  const sections = entries.map(
    ([code, { exit, retryable, meaning, hint }]) =>
      `## ${code}\n\n${meaning}\n\n**Next:** ${hint}\n\nExit code ${exit} (${EXIT_CLASSES[exit]}); ${retryable ? 'trying again may help' : 'trying again does not help'}.\n`,
  );
  return `# Error codes

Every error Kindling reports has one of these codes: on the console, in the log, in the workflow’s message, in the API’s
problem+json (\`code\`). Codes are added, never renamed. This page is made from \`protocol/error-codes.ts\`.

${sections.join('\n')}`;
}

/** What each group of the floor is called in front of people. */
const GROUP_TITLES = {
  'needs-hand': 'Needs a hand',
  running: 'Running',
  waiting: 'Waiting',
  done: 'Done',
  strangers: 'Strangers',
} as const;

function nodeStatusesPage(): string {
  const sections = FLOOR_GROUPS.map((group) => {
    const rows = Object.entries(NODE_STATUSES)
      .filter(([, meaning]) => meaning.group === group)
      .map(([status, { label, meaning, next }]) => [`\`${status}\``, label, meaning, next]);
    const table = markdownTable(['status', 'shown as', 'what it means', 'what a person does'], rows);
    return `## ${GROUP_TITLES[group]} (\`${group}\`)\n\n${table}\n`;
  });
  return `# Statuses of a node

Every node has one status, and every status belongs to one group. The page counts the groups, the API
filters by both (\`GET /api/v1/nodes?status=failed\`, \`?group=needs-hand\`), and so does the command line.
Statuses are added, never renamed. This page is made from \`protocol/floor.ts\`.

${sections.join('\n')}`;
}

function agentConfigPage(): string {
  const settings = Object.entries(SETTINGS) as [string, Setting<unknown>][];
  const rows = settings.map(([name, setting]) => [
    `\`${name}\``,
    setting.summary + (setting.isSecret ? ' (never shown)' : ''),
    names(setting.flags.map((flag) => `--${flag}`)),
    names(setting.kernel),
    names(setting.env),
    setting.default === undefined ? '' : `\`${String(setting.default)}\``,
  ]);
  const header = ['setting', 'what it is for', 'options', 'kernel command line', 'env_config', 'default'];
  return `# Settings of the agent

Where a value comes from, best first:

1. options of \`kindling-agent run\` and \`kindling-agent config\` (\`--name value\`, \`--name=value\`, one dash or two);
2. the kernel command line (\`/proc/cmdline\`; another file with \`--cmdline FILE\`);
3. the config archive’s \`/etc/emf/env_config\`, then \`/etc/hook/env_config\` (other files with \`--env-config FILE\`);
4. the default.

\`kindling-agent config\` prints what holds and where each value came from, \`--json\` for programs; secrets and the user part of
proxy addresses are masked. With \`kindling.server\` alone, all servers that are not named are that one, and its scheme decides about TLS.

- A \`kindling.*\` key that does not exist is an error that names the nearest one. Keys that only bring-up reads are in
  [kernel-command-line.md](kernel-command-line.md).
- A bad value under a name of ours is an error (\`KND_CONFIG_INVALID\`); under a foreign name (\`DEBUG\`, \`TIMEOUT\`, …) it is a warning
  and left out, because the node must still come up.
- Several names in one source: the first that is not empty counts. A proxy that is given but empty means “no proxy”, whatever a lower
  source says.
- Durations are Go’s (\`120s\`, \`1m30s\`); yes and no are Go’s, too (\`1 t true 0 f false\`). Defaults of durations are in milliseconds.
- \`s_*\` keys (hexadecimal seconds since 1970, left by the boot script) are reported as EMF’s boot KPI lines.

${markdownTable(header, rows)}
`;
}

function names(list: readonly string[] | undefined): string {
  return (list ?? []).map((name) => `\`${name}\``).join(' ');
}

if (import.meta.main) {
  for (const [file, page] of Object.entries(REFERENCE_PAGES)) {
    writeFileSync(join(import.meta.dirname, '../docs/reference', file), page());
  }
}
