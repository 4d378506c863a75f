import type { Path } from '../issue.ts';
import type { KthreesConfigSpec } from '../kubernetes-schema.ts';
import { SPEC } from '../normalize.ts';
import type { Config } from '../schema.ts';

/** The fields of K3s in a config, and where they stand. */
export function k3sSpec(config: Config): KthreesConfigSpec | undefined {
  return config.kubernetes?.spec?.template?.spec?.kthreesConfigSpec;
}

export const K3S_PATH: Path = ['kubernetes', ...SPEC];
