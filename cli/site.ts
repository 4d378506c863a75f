import type { Command } from 'commander';
import type { SiteSettings } from '../orchestrator-stub/settings/site-settings.ts';
import { KindlingError } from '../protocol/error.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatFields } from './table.ts';

const PATH = '/api/v1/site';

/** `kindling site …`: what holds for the whole site. */
export function defineSite(command: Command): void {
  withConnection(command.command('show').description('the site’s settings')).action(show);
  withConnection(
    command
      .command('set <settings...>')
      .description('change some, for example acceptUnregistered=true defaultProfile=edge'),
  ).action(set);
}

async function show(options: ConnectionOptions): Promise<void> {
  print(await new ServerConnection(options).call<SiteSettings>('GET', PATH), options);
}

async function set(settings: string[], options: ConnectionOptions): Promise<void> {
  const change = Object.fromEntries(settings.map(readSetting));
  print(await new ServerConnection(options).call<SiteSettings>('PATCH', PATH, change), options);
}

/** `name=value`: what is JSON (true, 30, null, a list) is that, everything else a text. */
export function readSetting(text: string): [name: string, value: unknown] {
  const at = text.indexOf('=');
  if (at < 1) throw new KindlingError('KND_USAGE', `a setting is name=value, not "${text}"`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value) as unknown];
  } catch {
    return [text.slice(0, at), value];
  }
}

function print(settings: SiteSettings, { output }: ConnectionOptions): void {
  if (output === 'json') console.log(JSON.stringify(settings, null, 2));
  else {
    const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    console.log(formatFields(Object.entries(settings).map(([name, value]) => [name, text(value)])));
  }
}
