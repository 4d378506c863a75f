import { REGISTRY_VARIABLES } from '../../actions/registry/registry-settings.ts';

/** What the agent's settings say about registries and trust, as the variables its actions read. */
export function actionEnvironment(config: {
  dockerRegistry?: string | undefined;
  registryUsername?: string | undefined;
  registryPassword?: string | undefined;
  insecureRegistries?: string | undefined;
  registryMirrors?: string | undefined;
  caCertificate?: string | undefined;
}): Record<string, string> {
  const named = {
    [REGISTRY_VARIABLES.defaultRegistry]: config.dockerRegistry,
    [REGISTRY_VARIABLES.username]: config.registryUsername,
    [REGISTRY_VARIABLES.password]: config.registryPassword,
    [REGISTRY_VARIABLES.insecure]: config.insecureRegistries,
    [REGISTRY_VARIABLES.mirrors]: config.registryMirrors,
    KINDLING_CA_FILE: config.caCertificate,
  };
  return Object.fromEntries(
    Object.entries(named).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
