import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { type Command, Option } from 'commander';
import { parse } from 'yaml';
import { openResponse } from '../net/http.ts';
import { redact } from '../net/redact.ts';
import { siteNetwork } from '../net/site-network.ts';
import type { Profile } from '../orchestrator-stub/nodes/profile.ts';
import type { SiteSettings } from '../orchestrator-stub/settings/site-settings.ts';
import { KindlingError } from '../protocol/error.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatFields, formatTable } from './table.ts';

interface AddOptions extends ConnectionOptions {
  file?: string;
  image?: string;
  sha256?: string;
  format?: string;
  immutable?: boolean;
  template?: string;
  security?: string;
  erase?: string;
  standalone?: boolean;
  after?: string;
  force?: boolean;
  default?: boolean;
}

const LOOK_MS = 5000;

/** `kindling profile …`: what may be installed, and what is installed by default. */
export function defineProfile(command: Command): void {
  withConnection(command.command('list').description('every profile')).action(list);
  withConnection(command.command('show <profile>').description('one profile')).action(show);
  withConnection(command.command('add <profile>').description('add or replace a profile'))
    .option('--file <file>', 'all of it from a YAML or JSON file')
    .option('--image <url>', 'the system’s image')
    .option('--sha256 <hash>', 'of the image as it is downloaded')
    .addOption(new Option('--format <format>', 'of the image').choices(['auto', 'raw', 'qcow2', 'iso']))
    .option('--immutable', 'an immutable system (template “microvisor”)')
    .option('--template <template>', 'workflow template')
    .option(
      '--security <feature>',
      'NONE, UNSPECIFIED (Secure Boot on) or SECURE_BOOT_AND_FULL_DISK_ENCRYPTION',
    )
    .option('--erase <method>', 'how disks are erased first: auto, quick, discard, zeroes, nvme-format, …')
    .option('--standalone', 'leave nothing of this site on the node: no credentials, no agents, no reports')
    .addOption(
      new Option('--after <what>', 'what the machine does when it is written').choices([
        'reboot',
        'poweroff',
        'stay',
      ]),
    )
    .option('--force', 'also if the image or the template is not there')
    .option('--default', 'make it the site’s default')
    .action(add);
  withConnection(command.command('delete <profile>').description('remove a profile that no node has'))
    .option('--force', 'also one that nodes have')
    .action(remove);
  withConnection(command.command('default [profile]').description('show or set the site’s default profile'))
    .option('--manual', 'provision nothing by itself: somebody chooses')
    .option('--zero-touch', 'provision every onboarded node with the default')
    .action(setDefault);
}

async function list(options: ConnectionOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const { profiles } = await connection.call<{ profiles: Profile[] }>('GET', '/api/v1/profiles');
  if (options.output === 'json') {
    console.log(JSON.stringify(profiles, null, 2));
    return;
  }
  const { defaultProfile } = await connection.call<SiteSettings>('GET', '/api/v1/site');
  console.log(
    formatTable(profiles, [
      ['NAME', ({ name }) => name + (name === defaultProfile ? ' (default)' : '')],
      ['TYPE', ({ osType }) => osType],
      ['SECURITY', ({ security }) => security],
      ['IMAGE', ({ imageUrl }) => imageUrl],
    ]),
  );
}

async function show(name: string, options: ConnectionOptions): Promise<void> {
  const profile = await new ServerConnection(options).call<Profile>('GET', pathOf(name));
  if (options.output === 'json') {
    console.log(JSON.stringify(profile, null, 2));
    return;
  }
  console.log(
    formatFields(
      Object.entries(profile).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
  );
}

async function add(name: string, options: AddOptions): Promise<void> {
  const connection = new ServerConnection(options);
  if (options.image && !options.force) await lookForImage(options.image, connection.ca);
  const path = options.force ? `${pathOf(name)}?force=true` : pathOf(name);
  const profile = await connection.call<Profile>('PUT', path, {
    ...(options.file ? readProfile(options.file) : {}),
    ...(options.image ? { imageUrl: options.image } : {}),
    ...(options.sha256 ? { imageSha256: options.sha256 } : {}),
    ...(options.format ? { imageFormat: options.format } : {}),
    ...(options.immutable ? { osType: 'IMMUTABLE' } : {}),
    ...(options.template ? { template: options.template } : {}),
    ...(options.security ? { security: options.security } : {}),
    ...(options.erase ? { eraseMethod: options.erase } : {}),
    ...(options.standalone ? { standalone: true } : {}),
    ...(options.after ? { after: options.after } : {}),
  });
  if (options.default) await connection.call('PATCH', '/api/v1/site', { defaultProfile: name });
  if (options.output === 'json') console.log(JSON.stringify(profile, null, 2));
  else console.log(`saved profile ${profile.name}${options.default ? ', the default from now on' : ''}`);
}

async function remove(name: string, options: ConnectionOptions & { force?: boolean }): Promise<void> {
  await new ServerConnection(options).call('DELETE', `${pathOf(name)}${options.force ? '?force=true' : ''}`);
  if (options.output === 'table') console.log(`removed profile ${name}`);
}

async function setDefault(
  name: string | undefined,
  options: ConnectionOptions & { manual?: boolean; zeroTouch?: boolean },
): Promise<void> {
  const change = {
    ...(name ? { defaultProfile: name } : {}),
    ...(options.manual ? { autoProvision: false } : {}),
    ...(options.zeroTouch ? { autoProvision: true } : {}),
  };
  const settings = await new ServerConnection(options).call<SiteSettings>('PATCH', '/api/v1/site', change);
  if (options.output === 'json') {
    console.log(JSON.stringify(settings, null, 2));
    return;
  }
  const mode = settings.autoProvision ? 'zero touch' : 'manual';
  console.log(`default profile: ${settings.defaultProfile ?? 'none'}; ${mode}`);
}

/** A server that says it has no such image is believed; one that cannot be reached from here may well be from the nodes. */
async function lookForImage(url: string, siteCa: string | undefined): Promise<void> {
  if (!/^https?:/.test(url)) return;
  try {
    const signal = AbortSignal.timeout(LOOK_MS);
    // The image may be the orchestrator's own file, or anybody's.
    const network = siteNetwork(siteCa && [...getCACertificates('default'), siteCa]);
    const response = await openResponse(network, url, {
      method: 'HEAD',
      followsRedirects: true,
      signal,
    });
    response.discard();
    const { status } = response;
    if (status !== 404 && status !== 410) return;
    throw new KindlingError('KND_PROFILE_INVALID', `there is no image at ${redact(url)} (${status})`, {
      hint: 'Correct --image, or add --force if it will be there later.',
    });
  } catch (thrown) {
    if (thrown instanceof KindlingError) throw thrown;
    console.error(`note: ${redact(url)} does not answer from this machine now`);
  }
}

function readProfile(file: string): Record<string, unknown> {
  try {
    const { name: _name, ...rest } = parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    return rest;
  } catch (cause) {
    throw new KindlingError('KND_PROFILE_INVALID', `${file} cannot be read as a profile`, { cause });
  }
}

function pathOf(name: string): string {
  return `/api/v1/profiles/${encodeURIComponent(name)}`;
}
