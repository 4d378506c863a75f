import { isLoopback } from '../../net/no-proxy.ts';
import type { Config, ResolvedConfig, SettingName } from '../config/resolve-config.ts';
import { authorityOf, parseEndpoint } from './endpoint.ts';

/** What one Kindling server offers on its one port. */
const OFFERED = [
  'onboardingStream',
  'onboardingManager',
  'keycloak',
  'tinkServer',
  'tinkStack',
  'releaseServer',
  'registryServer',
] as const satisfies readonly SettingName[];

/**
 * With `kindling.server` alone the agent knows everything: a Kindling server has all services on one port. Where another
 * orchestrator is named as well, the server only gets the discovery report and the logs.
 */
export function withServerDefaults(resolved: ResolvedConfig): ResolvedConfig {
  const { config, origins } = resolved;
  if (config.server === undefined || hasOtherOrchestrator(config)) return resolved;
  const server = parseEndpoint(config.server, 'verified');
  const values: Partial<Record<SettingName, unknown>> = { tls: server.tls !== 'off' };
  const derived: ResolvedConfig['origins'] = { tls: 'scheme of the server' };
  for (const name of OFFERED) {
    if (config[name] !== undefined) continue;
    values[name] = authorityOf(server);
    derived[name] = 'same as the server';
  }
  return { ...resolved, config: { ...config, ...values } as Config, origins: { ...origins, ...derived } };
}

function hasOtherOrchestrator({ onboardingStream, tinkServer, grpcAuthority }: Config): boolean {
  if (onboardingStream !== undefined || tinkServer !== undefined) return true;
  return grpcAuthority !== undefined && !isLoopback(parseEndpoint(grpcAuthority, 'verified').host);
}
