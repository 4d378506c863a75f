import { stringify } from 'yaml';
import type { Issue } from '../../../standalone/config/issue.ts';
import { type ValidationOptions, validateConfig } from '../../../standalone/config/validate.ts';

export const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE8Lx1uVYpoqbqlUwXl4sDUw0Wm5rBnqSxSPaCvb6kSA admin@example';

/** A value of the config file as tests change it. */
// biome-ignore lint/suspicious/noExplicitAny: tests put wrong types into it on purpose
export type Draft = any;

/** A small valid configuration without a single finding. */
export function validConfig(): Draft {
  return {
    version: '1.0',
    operatingSystem: {
      users: [{ username: 'edge', password: Buffer.from('secret words').toString('base64') }],
    },
  };
}

/** The same with a K3s template; `change` gets the whole configuration and the fields of K3s. */
export function clusterConfig(change: (spec: Draft, config: Draft) => void = () => {}): Draft {
  const config = validConfig();
  const spec: Draft = { agentConfig: {}, serverConfig: {} };
  config.kubernetes = {
    kind: 'KThreesControlPlaneTemplate',
    apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
    spec: { template: { spec: { kthreesConfigSpec: spec } } },
  };
  change(spec, config);
  return config;
}

export function systemConfig(change: (os: Draft, config: Draft) => void): Draft {
  const config = validConfig();
  change(config.operatingSystem, config);
  return config;
}

export function findingsOf(config: Draft, options: ValidationOptions = {}): Issue[] {
  return validateConfig(typeof config === 'string' ? config : stringify(config), options).issues;
}

export const SPEC_PATH = 'kubernetes.spec.template.spec.kthreesConfigSpec';
