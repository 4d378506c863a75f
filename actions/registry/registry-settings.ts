import { type ProxySettings, proxiesOfEnvironment } from '../../net/proxy.ts';

/** What a site says about registries; the agent passes it to its actions in these variables of the process. */
export interface RegistrySettings {
  /** For images without a registry in their name. */
  defaultRegistry: string | undefined;
  username: string | undefined;
  password: string | undefined;
  /** Registries that are reached over plain HTTP. */
  insecure: readonly string[];
  /** `registry=mirror` or a mirror for all; the first that fits and answers is taken, the registry itself comes last. */
  mirrors: readonly { registry: string | undefined; mirror: string }[];
  /** As the agent passes them on to programs, in small letters. */
  proxies: ProxySettings;
}

/** The names of the variables, by setting. */
export const REGISTRY_VARIABLES = {
  defaultRegistry: 'DOCKER_REGISTRY',
  username: 'REGISTRY_USERNAME',
  password: 'REGISTRY_PASSWORD',
  insecure: 'INSECURE_REGISTRIES',
  mirrors: 'KINDLING_REGISTRY_MIRRORS',
} as const;

export function readRegistrySettings(environment: NodeJS.ProcessEnv = process.env): RegistrySettings {
  const list = (text: string | undefined) => (text ?? '').split(/[\s,]+/).filter(Boolean);
  return {
    defaultRegistry: environment[REGISTRY_VARIABLES.defaultRegistry] || undefined,
    username: environment[REGISTRY_VARIABLES.username],
    password: environment[REGISTRY_VARIABLES.password],
    insecure: list(environment[REGISTRY_VARIABLES.insecure]),
    mirrors: list(environment[REGISTRY_VARIABLES.mirrors]).map((item) => {
      const [first = '', second] = item.split('=');
      return second === undefined
        ? { registry: undefined, mirror: first }
        : { registry: first, mirror: second };
    }),
    proxies: proxiesOfEnvironment(environment),
  };
}

/**
 * Whether the site's user and password may be given to a place that asks for them. They are for the site's own registry and its mirrors: an image of another
 * registry, whose name any workflow can write, must not be a way to get hold of them. A site that names no registry means whatever is asked.
 */
export function mayLogIn(
  base: string,
  registry: string,
  settings: Pick<RegistrySettings, 'defaultRegistry' | 'insecure' | 'mirrors'>,
): boolean {
  const { defaultRegistry } = settings;
  if (defaultRegistry === undefined || registry === defaultRegistry) return true;
  return base !== basesFor(registry, settings).at(-1);
}

/** Where to ask for an image of this registry, in order: `https://host[/prefix]`. */
export function basesFor(
  registry: string,
  { insecure, mirrors }: Pick<RegistrySettings, 'insecure' | 'mirrors'>,
): string[] {
  const schemeFor = (host: string) => {
    const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host);
    return isLocal || insecure.includes(host) ? 'http' : 'https';
  };
  const base = (place: string) => {
    const bare = place.replace(/\/+$/, '');
    return /^https?:\/\//.test(bare) ? bare : `${schemeFor(bare.split('/')[0] ?? '')}://${bare}`;
  };
  const fitting = mirrors.filter((each) => each.registry === undefined || each.registry === registry);
  return [...fitting.map(({ mirror }) => base(mirror)), base(registry)];
}
