import { join } from 'node:path';
import { prepareLoaders } from '../../../actions/boot-order/system-partition.ts';
import { placeSeed } from '../../../actions/cloud-init/place-seed.ts';
import { type Seed, seedFiles } from '../../../actions/cloud-init/seed-files.ts';
import { addRecoveryKey, type RecoveryKey } from '../../../agent/standalone/recovery-key-file.ts';

// Places files the way an action or the agent does, in a folder that is there instead of a mounted file system.

/** What is to be placed; the argument of the program. */
export type Placement =
  | { what: 'seed'; kind: 'mutable' | 'immutable'; seed: Seed }
  | { what: 'loaders' }
  | { what: 'recovery-keys'; keys: RecoveryKey[] };

const [root = '', text = ''] = process.argv.slice(2);
const placement = JSON.parse(text) as Placement;
switch (placement.what) {
  case 'seed':
    await placeSeed(root, seedFiles(placement.kind, placement.seed));
    break;
  case 'loaders':
    await prepareLoaders(root, { mayCopy: true, architecture: 'x64' });
    break;
  case 'recovery-keys':
    for (const key of placement.keys) await addRecoveryKey(join(root, 'recovery-keys', 'node.json'), key);
    break;
}
