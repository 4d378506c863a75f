import { REGISTRY_VARIABLES } from '../../actions/registry/registry-settings.ts';

/**
 * What the agent's settings say about registries and trust, as the variables its actions read, and about proxies, as the programs that actions start
 * read it: the package manager of an installed system knows only the names in small letters.
 */
export function actionEnvironment(config: {
  dockerRegistry?: string | undefined;
  registryUsername?: string | undefined;
  registryPassword?: string | undefined;
  insecureRegistries?: string | undefined;
  registryMirrors?: string | undefined;
  caCertificate?: string | undefined;
  httpProxy?: string | undefined;
  httpsProxy?: string | undefined;
  noProxy?: string | undefined;
}): Record<string, string> {
  const named = {
    [REGISTRY_VARIABLES.defaultRegistry]: config.dockerRegistry,
    [REGISTRY_VARIABLES.username]: config.registryUsername,
    [REGISTRY_VARIABLES.password]: config.registryPassword,
    [REGISTRY_VARIABLES.insecure]: config.insecureRegistries,
    [REGISTRY_VARIABLES.mirrors]: config.registryMirrors,
    KINDLING_CA_FILE: config.caCertificate,
    http_proxy: config.httpProxy,
    https_proxy: config.httpsProxy,
    no_proxy: config.noProxy,
  };
  return Object.fromEntries(
    Object.entries(named).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
