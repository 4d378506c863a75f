import { z } from 'zod';

/** Values of files that systemd reads and shells source: nothing in them may mean something to either. */
export const AgentVariablesSchema = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'letters, digits and underscore'),
  z
    .string()
    .max(1000)
    .regex(/^[\x20-\x7e]*$/, 'printable ASCII')
    .regex(/^[^"'\\$`#;&|<>()\s]*$/, 'no spaces, no quotes, nothing that a shell would read'),
);

/**
 * The environment file that EMF’s agents read (docs/background/emf.md#agents). Every service is this server until the site or the profile
 * says otherwise.
 */
export function agentVariables(serverUrl: string, ...overrides: Record<string, string>[]): string[] {
  const { hostname, host, port, protocol } = new URL(serverUrl);
  const number = port || (protocol === 'https:' ? '443' : '80');
  const address = port ? host : `${hostname}:${number}`;
  const defaults: Record<string, string> = {
    CLUSTER_ORCH_URL: address,
    HW_INVENTORY_URL: address,
    NODE_ONBOARDING_ENABLED: 'true',
    NODE_ONBOARDING_URL: address,
    NODE_ONBOARDING_HEARTBEAT: '10s',
    NODE_ACCESS_URL: address,
    NODE_RS_URL: address,
    NODE_SERVICE_CLIENTS: '',
    NODE_OUTBOUND_CLIENTS: '',
    NODE_METRICS_ENABLED: 'false',
    NODE_TOKEN_CLIENTS: '',
    CADDY_APT_PROXY_URL: hostname,
    CADDY_APT_PROXY_PORT: number,
    REGISTRY_URL: address,
    CADDY_REGISTRY_PROXY_URL: hostname,
    CADDY_REGISTRY_PROXY_PORT: number,
    OBSERVABILITY_LOGGING_URL: hostname,
    OBSERVABILITY_LOGGING_PORT: number,
    OBSERVABILITY_METRICS_URL: hostname,
    OBSERVABILITY_METRICS_PORT: number,
    UPDATE_SERVICE_URL: address,
    TELEMETRY_MANAGER_URL: address,
    PLATFORM_MANAGEABILITY_URL: address,
    RPS_ADDRESS: address,
    KEYCLOAK_FQDN: address,
    RELEASE_FQDN: address,
    RS_TYPE: 'no-auth',
    RSTYPE: 'no-auth',
    // This server has neither a cluster orchestrator nor an observability stack.
    DISABLE_CO_PROFILE: 'true',
    DISABLE_O11Y_PROFILE: 'true',
  };
  return Object.entries(Object.assign(defaults, ...overrides)).map(([name, value]) => `${name}=${value}`);
}
