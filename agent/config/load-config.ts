import { KindlingError } from '../../protocol/error.ts';
import { ENVIRONMENT_PATHS } from '../../protocol/site-files.ts';
import { parseKernelArguments } from '../../system/kernel-arguments.ts';
import { readIfThere } from '../../system/read-if-there.ts';
import { parseEnvConfig } from './env-config.ts';
import { type ResolvedConfig, resolveConfig } from './resolve-config.ts';

/** Where the config archive puts env_config: EMF's place, then HookOS' place. */
const ENV_CONFIG_FILES = ENVIRONMENT_PATHS.map((path) => `/${path}`);

/** Options that say where to read from, not what. */
const SOURCE_FLAGS = ['cmdline', 'env-config', 'config'];

/** Reads flags, kernel command line and env_config from this machine and decides the effective config. */
export function loadConfig(args: readonly string[]): ResolvedConfig {
  const flags = parseFlags(args);
  const take = (name: string) => flags.filter((flag) => flag.name === name).map(({ value }) => value);
  const commandLine = take('cmdline').at(-1) ?? '/proc/cmdline';
  const envFiles = [...take('env-config'), ...take('config')];
  return resolveConfig({
    flags: flags.filter(({ name }) => !SOURCE_FLAGS.includes(name)),
    kernel: parseKernelArguments(readIfThere(commandLine) ?? ''),
    env: (envFiles.length > 0 ? envFiles : ENV_CONFIG_FILES).flatMap((file) => {
      const content = readIfThere(file);
      if (content === undefined && envFiles.length > 0)
        throw new KindlingError('KND_CONFIG_INVALID', `the file ${file} named by --env-config is not there`);
      return content === undefined ? [] : [{ file, values: parseEnvConfig(content) }];
    }),
  });
}

/** `--name value`, `--name=value`, `--name` (yes), with one dash or two. */
export function parseFlags(args: readonly string[]): { name: string; value: string }[] {
  const flags: { name: string; value: string }[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? '';
    const [, name, value] = /^--?([a-zA-Z][\w-]*)(?:=([\s\S]*))?$/.exec(argument) ?? [];
    if (name === undefined) throw new KindlingError('KND_USAGE', `"${argument}" is not an option`);
    const next = args[index + 1];
    if (value !== undefined) flags.push({ name, value });
    else if (next !== undefined && !/^--?[a-zA-Z]/.test(next)) {
      flags.push({ name, value: next });
      index += 1;
    } else flags.push({ name, value: '' });
  }
  return flags;
}
