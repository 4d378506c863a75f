import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { KindlingError } from '../protocol/error.ts';
import { renderReference } from './bootstrap/reference-cloud-init.ts';
import { hashPasswords } from './cloud-init/hash-passwords.ts';
import { type RenderedMachine, renderMachine } from './cloud-init/render-machine.ts';
import { formatIssue } from './config/issue.ts';
import { isTree } from './config/normalize.ts';
import type { LookUp } from './config/rules/disk-and-image.ts';
import { k3sSpec } from './config/rules/k3s-spec.ts';
import type { LoginPolicy } from './config/rules/users.ts';
import type { Config } from './config/schema.ts';
import { type Validation, type ValidationOptions, validateConfig } from './config/validate.ts';
import { type Migration, migrateHybrid } from './migrate/migrate-hybrid.ts';
import { migrateTemplate } from './migrate/migrate-template.ts';

export interface ValidateOptions extends LoginPolicy {
  strict?: boolean;
  /** False with --no-files. */
  files?: boolean;
  json?: boolean;
  k3sVersion?: string;
}

/** Prints every finding; ends with exit code 2 if one is an error. */
export function validateCommand(file: string, options: ValidateOptions): void {
  const lookUp = options.files === false ? undefined : lookUpBeside(file);
  const validation = validateConfig(readText(file), { ...options, lookUp });
  if (options.json) console.log(JSON.stringify(validation.issues, undefined, 2));
  else for (const issue of validation.issues) console.log(formatIssue(file, issue));
  refuseInvalid(file, validation);
  if (!options.json) console.log(`${file}: valid${countedWarnings(validation)}`);
}

export interface RenderOptions extends LoginPolicy {
  strict?: boolean;
  parity?: boolean;
  endpoint?: string;
  token?: string;
  /** Which machine: serial, UUID or MAC as in `nodes`; the default if left out. */
  node?: string;
  part?: string;
  out?: string;
}

/** Prints the cloud-init that a machine gets, or writes all its parts into a folder: a NoCloud seed. */
export async function renderCommand(file: string, options: RenderOptions): Promise<void> {
  const withJinja = options.parity ?? false;
  const validation = readValidConfig(file, { ...options, withJinja });
  const config = chooseMachine(validation, options.node);
  if (options.parity) {
    process.stdout.write(await renderParity(config, options));
    return;
  }
  const machine = renderMachine(await hashPasswords(config));
  if (options.out === undefined) {
    process.stdout.write(partOf(machine, options.part ?? 'user-data'));
    return;
  }
  await mkdir(options.out, { recursive: true });
  for (const part of PARTS) {
    const path = join(options.out, part);
    await writeFile(path, partOf(machine, part), { mode: 0o600 });
    console.log(path);
  }
}

async function renderParity(config: Config, options: RenderOptions): Promise<string> {
  const spec = k3sSpec(config);
  if (spec === undefined) {
    throw new KindlingError('KND_STANDALONE_CONFIG_INVALID', 'there is no kubernetes section to render');
  }
  // Loaded here: only parity mode makes certificates.
  const { makeClusterCertificates } = await import('./bootstrap/cluster-certificates.ts');
  return renderReference({
    spec: { ...spec, agentConfig: { ...spec.agentConfig, airGapped: true } },
    endpoint: options.endpoint,
    token: options.token ?? randomBytes(16).toString('hex'),
    certificates: await makeClusterCertificates(new Date()),
    withEtcdProxy: true,
  });
}

const PARTS = ['user-data', 'meta-data', 'network-config'] as const;

function partOf(machine: RenderedMachine, part: string): string {
  if (part === 'user-data') return machine.userData;
  if (part === 'meta-data') return machine.metaData;
  if (part === 'network-config') return machine.networkConfig;
  throw new KindlingError('KND_USAGE', `unknown part "${part}"; known: ${PARTS.join(', ')}`);
}

function chooseMachine({ machines }: Validation, node: string | undefined): Config {
  const wanted = node?.toLowerCase();
  const found = machines.find(({ match }) =>
    match === 'default'
      ? wanted === undefined
      : Object.values(match).some((value) => value?.toLowerCase() === wanted),
  );
  if (found !== undefined) return found.config;
  throw new KindlingError('KND_USAGE', `no entry of nodes names "${node}"`);
}

export interface MigrateOptions {
  secret?: string[];
  out?: string;
}

/** Prints the new form of an old config file or of an EMF cluster template; notes go to the error output. */
export async function migrateCommand(file: string, options: MigrateOptions): Promise<void> {
  const { config, notes } = migrateText(readText(file), options.secret ?? []);
  for (const note of notes) console.error(`note: ${note}`);
  const text = stringify(config, { lineWidth: 0 }).replace(/^version: .*$/m, 'version: 1.0');
  if (options.out === undefined) process.stdout.write(text);
  else await writeFile(options.out, text, { mode: 0o600, flag: 'wx' });
}

function migrateText(text: string, secretOptions: string[]): Migration {
  if (!text.trimStart().startsWith('{')) return migrateHybrid(text);
  const secrets = new Map(
    secretOptions.map((option) => {
      const at = option.indexOf('=');
      if (at < 0) throw new KindlingError('KND_USAGE', `--secret ${option}: expected NAME/KEY=FILE`);
      return [option.slice(0, at), readText(option.slice(at + 1))] as const;
    }),
  );
  let template: unknown;
  try {
    template = JSON.parse(text);
  } catch (cause) {
    throw new KindlingError('KND_STANDALONE_CONFIG_INVALID', 'the template is not valid JSON', { cause });
  }
  return migrateTemplate(isTree(template) ? template : {}, secrets);
}

/** The config for a command that acts on it: findings go to the error output, an error among them ends the command. */
export function readValidConfig(file: string, options: ValidationOptions): Validation {
  const validation = validateConfig(readText(file), options);
  for (const issue of validation.issues) console.error(formatIssue(file, issue));
  refuseInvalid(file, validation);
  return validation;
}

/** Looks for files relative to the config file. */
export function lookUpBeside(configFile: string): LookUp {
  return (path) => {
    const stats = statSync(resolve(dirname(configFile), path), { throwIfNoEntry: false });
    return stats?.isFile() ? 'file' : stats?.isDirectory() ? 'folder' : undefined;
  };
}

/** Throws the one error that makes the exit code; the findings were printed before it. */
function refuseInvalid(file: string, { isValid, issues }: Validation): void {
  if (isValid) return;
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  throw new KindlingError(
    'KND_STANDALONE_CONFIG_INVALID',
    `${file} has ${errors} error${errors === 1 ? '' : 's'}`,
  );
}

function countedWarnings({ issues }: Validation): string {
  const warnings = issues.filter(({ severity }) => severity === 'warning').length;
  return warnings === 0 ? '' : ` (${warnings} warning${warnings === 1 ? '' : 's'})`;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${file} cannot be read`, { cause });
  }
}
