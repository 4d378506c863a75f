import { KindlingError } from '../../protocol/error.ts';
import { closestName } from '../../system/closest-name.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import { BOOT_KERNEL_KEYS, BOOT_KERNEL_PREFIXES } from './kernel-keys.ts';
import { SETTINGS, type Setting } from './settings.ts';

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;
type NameWithDefault = {
  [K in keyof Settings]: Settings[K] extends { default: unknown } ? K : never;
}[keyof Settings];

export type SettingName = keyof Settings;

/** The agent's settings, each with its type; one without a default is absent when nobody gave it. */
export type Config = Readonly<
  { [K in NameWithDefault]: ValueOf<Settings[K]> } & {
    [K in Exclude<SettingName, NameWithDefault>]?: ValueOf<Settings[K]>;
  }
>;

export interface ConfigSources {
  flags: { name: string; value: string }[];
  kernel: KernelArguments;
  /** env_config files in order of precedence. */
  env: { file: string; values: Record<string, string> }[];
}

export interface ResolvedConfig {
  config: Config;
  /** Where each value came from: "--server", "kernel command line worker_id", "/etc/emf/env_config OBM_PORT", "default". */
  origins: Partial<Record<SettingName, string>>;
  /** Values given under a foreign name that make no sense: reported and left out, as a node must still boot. */
  warnings: string[];
  /** Timestamps that the boot script left (`s_*`, hexadecimal seconds): milliseconds since 1970. */
  stamps: Record<string, number>;
}

/** Decides the effective config: flags, then kernel command line, then env_config, then defaults. */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  refuseUnknownNames(sources);
  const values: Partial<Record<SettingName, unknown>> = {};
  const origins: ResolvedConfig['origins'] = {};
  const warnings: string[] = [];
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    const setting: Setting<unknown> = SETTINGS[name];
    const found = firstUsable(setting, candidates(setting, sources), warnings);
    if (found) {
      if (found.value !== undefined) values[name] = found.value;
      origins[name] = found.origin;
    } else if (setting.default !== undefined) {
      values[name] = setting.default;
      origins[name] = 'default';
    }
  }
  return { config: values as Config, origins, warnings, stamps: stampsOf(sources.kernel) };
}

interface Candidate {
  name: string;
  text: string;
  origin: string;
  /** Given under a name of our own: a bad value is the giver's error, not a warning. */
  isOurs: boolean;
}

/** What each source says about one setting, best source first; several names within a source fold into one. */
function candidates(setting: Setting<unknown>, { flags, kernel, env }: ConfigSources): Candidate[] {
  const fromFlags = flags
    .filter(({ name }) => setting.flags.includes(name))
    .map(({ name, value }) => ({ name, text: value, origin: `--${name}`, isOurs: true }))
    .at(-1);
  const fromKernel = firstNotEmpty(
    (setting.kernel ?? []).flatMap((name) => {
      if (!kernel.has(name)) return [];
      const origin = `kernel command line ${name}`;
      return [{ name, text: kernel.last(name) ?? '', origin, isOurs: name.startsWith('kindling.') }];
    }),
  );
  const fromEnv = env.map(({ file, values }) =>
    firstNotEmpty(
      (setting.env ?? []).flatMap((name) => {
        const value = values[name];
        return value === undefined ? [] : [{ name, text: value, origin: `${file} ${name}`, isOurs: false }];
      }),
    ),
  );
  return [fromFlags, fromKernel, ...fromEnv].filter((candidate) => candidate !== undefined);
}

function firstNotEmpty(found: Candidate[]): Candidate | undefined {
  return found.find(({ text }) => text !== '') ?? found[0];
}

function firstUsable(
  setting: Setting<unknown>,
  found: Candidate[],
  warnings: string[],
): { value: unknown; origin: string } | undefined {
  for (const { name, text, origin, isOurs } of found) {
    if (text === '' && setting.whenEmpty === 'none') return { value: undefined, origin: `${origin} (empty)` };
    if (text === '' && !isOurs) continue;
    try {
      const value = setting.parse(text, name);
      return { value: setting.negated?.includes(name) ? !value : value, origin };
    } catch (error) {
      if (isOurs || !(error instanceof KindlingError)) throw error;
      warnings.push(`${error.message}; ignored (${origin})`);
    }
  }
  return undefined;
}

/** A misspelled key of ours would silently do nothing; names of others are none of our business. */
function refuseUnknownNames({ flags, kernel }: ConfigSources): void {
  const knownFlags = Object.values(SETTINGS).flatMap((setting: Setting<unknown>) => setting.flags);
  for (const { name } of flags) {
    if (knownFlags.includes(name)) continue;
    throw new KindlingError('KND_USAGE', `there is no option --${name}${suggest(name, knownFlags, '--')}`);
  }
  const knownKeys = [
    ...Object.values(SETTINGS).flatMap((setting: Setting<unknown>) => setting.kernel ?? []),
    ...BOOT_KERNEL_KEYS,
  ].filter((name) => name.startsWith('kindling.'));
  for (const { key: name } of kernel.entries) {
    if (!name.startsWith('kindling.') || knownKeys.includes(name)) continue;
    if (BOOT_KERNEL_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    throw new KindlingError(
      'KND_CONFIG_UNKNOWN_KEY',
      `the kernel command line has ${name}, which Kindling does not know${suggest(name, knownKeys, '')}`,
      { evidence: { known: knownKeys } },
    );
  }
}

function suggest(wrong: string, known: readonly string[], prefix: string): string {
  const meant = closestName(wrong, known);
  return meant === undefined ? '' : `; did you mean ${prefix}${meant}?`;
}

function stampsOf(kernel: KernelArguments): Record<string, number> {
  const stamps = kernel.entries.flatMap(({ key, value = '' }) =>
    key.startsWith('s_') && /^(0x)?[0-9a-fA-F]+$/.test(value)
      ? [[key, Number.parseInt(value, 16) * 1000] as const]
      : [],
  );
  return Object.fromEntries(stamps);
}
