import { loadConfig } from './config/load-config.ts';
import type { ResolvedConfig, SettingName } from './config/resolve-config.ts';
import { SETTINGS, type Setting } from './config/settings.ts';
import { withServerDefaults } from './connection/server-defaults.ts';

/** `kindling-agent config`: the effective config and where each value came from; `--json` for machines. */
export async function printConfig(args: string[]): Promise<number> {
  const isJson = args.includes('--json');
  const resolved = withServerDefaults(loadConfig(args.filter((argument) => argument !== '--json')));
  process.stdout.write(
    isJson ? `${JSON.stringify(configAsRows(resolved), null, 2)}\n` : configAsTable(resolved),
  );
  return 0;
}

interface Row {
  name: SettingName;
  value: unknown;
  origin: string;
}

function configAsRows({ config, origins }: ResolvedConfig): Row[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => ({
    name,
    value: mask(SETTINGS[name], config[name]),
    origin: origins[name] ?? 'not set',
  }));
}

export function configAsTable(resolved: ResolvedConfig): string {
  const rows = configAsRows(resolved).map(({ name, value, origin }) => [name, display(value), origin]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(([name = '', value = '', origin = '']) =>
    `${name.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${origin}`.trimEnd(),
  );
  const warnings = resolved.warnings.map((warning) => `warning: ${warning}`);
  return `${[...lines, ...warnings].join('\n')}\n`;
}

function display(value: unknown): string {
  if (value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Secrets become stars; a proxy's user and password, too. */
function mask(setting: Setting<unknown>, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (setting.isSecret) return '********';
  return typeof value === 'string' ? value.replace(/^(\w+:\/\/)?[^/@\s]+@/, '$1********@') : value;
}
