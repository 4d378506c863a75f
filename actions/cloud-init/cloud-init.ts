import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { fileExists } from '../../system/file-exists.ts';
import { defineAction } from '../contract/action.ts';
import { ROOT_PARTITION_PARAMETERS } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { findTargetFilesystem, type TargetFilesystem } from '../target-root/target-filesystem.ts';
import { checkMetaData, checkNetworkConfig, checkUserData } from './check-user-data.ts';
import { loadCloudInitSchema } from './cloud-init-schema.ts';
import { placeSeed } from './place-seed.ts';
import { SETTINGS_PATH, seedFiles } from './seed-files.ts';

export const cloudInit = defineAction({
  name: 'cloud-init',
  aliases: [],
  summary: 'Gives the installed system its cloud-init configuration, checked and in the right place',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...ROOT_PARTITION_PARAMETERS,
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    USER_DATA: {
      type: 'text',
      required: true,
      pattern: /\S/,
      secret: true,
      description: 'User data; starts with #cloud-config or another header',
    },
    META_DATA: { type: 'text', description: 'Meta-data (YAML mapping)' },
    NETWORK_CONFIG: { type: 'text', description: 'Network configuration, version 1 or 2' },
    VENDOR_DATA: { type: 'text', secret: true, description: 'Vendor data' },
    HOSTNAME: {
      type: 'text',
      pattern: /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/,
      description: 'Name of the node',
    },
    INSTANCE_ID: {
      type: 'text',
      description: 'Instance id; without it one that changes with the configuration',
    },
    TARGET_KIND: {
      type: 'choice',
      choices: ['auto', 'mutable', 'immutable'],
      default: 'auto',
      description: 'Whether /var of the installed system lasts; auto recognizes Edge Microvisor systems',
    },
  },
  notes: [
    'Mutable systems get a NoCloud seed in `/var/lib/cloud/seed/nocloud`; immutable ones the same data inline in `/etc/cloud/cloud.cfg.d/99-kindling.cfg`, one file, because of two files with a `runcmd` cloud-init reads only the one that sorts last.',
    'The configuration is checked before it is written: header, YAML, names of modules, and everything cloud-init’s own schema says (that of Debian 12, which the Micro-OS carries); each mistake with its line, its path and a message. Names below a module that this version does not know are only warned about: the target’s may be newer. On immutable systems it must be in place before `fde_dmv` seals the root.',
  ],
  async run(variables, context) {
    const schema = await loadCloudInitSchema();
    const problems = [
      ...checkUserData(variables.USER_DATA, schema).map((problem) => `USER_DATA ${problem}`),
      ...(variables.NETWORK_CONFIG ? checkNetworkConfig(variables.NETWORK_CONFIG) : []).map(
        (problem) => `NETWORK_CONFIG ${problem}`,
      ),
      ...(variables.META_DATA ? checkMetaData(variables.META_DATA) : []).map(
        (problem) => `META_DATA ${problem}`,
      ),
      ...(variables.VENDOR_DATA ? checkUserData(variables.VENDOR_DATA, schema) : []).map(
        (problem) => `VENDOR_DATA ${problem}`,
      ),
    ];
    if (problems.length > 0) {
      throw new KindlingError('KND_CLOUD_INIT_INVALID', problems.join('; '), { evidence: { problems } });
    }
    // The target may have a newer cloud-init than the schema is of: what that does not know is worth a word, not a refusal.
    for (const doubt of checkUserData(variables.USER_DATA, schema, 'strict')) {
      context.log('warn', `USER_DATA ${doubt}`);
    }
    const target = await findTargetFilesystem(context, variables.DEST_DISK, variables.KINDLING_DISK);
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
      isReadOnly: context.isDryRun,
    });
    const kind =
      variables.TARGET_KIND === 'auto' ? await recognizeKind(mounted.target, target) : variables.TARGET_KIND;
    const files = seedFiles(kind, {
      userData: variables.USER_DATA,
      metaData: variables.META_DATA,
      networkConfig: variables.NETWORK_CONFIG,
      vendorData: variables.VENDOR_DATA,
      hostname: variables.HOSTNAME,
      instanceId: variables.INSTANCE_ID,
      machine: await systemUuid(),
    });
    for (const name of await filesThatWin(mounted.target)) {
      context.log(
        'warn',
        `${name} of the image sorts behind ours and sets the datasource: cloud-init will follow it`,
      );
    }
    if (!context.isDryRun) await placeSeed(mounted.target, files);
    await mounted.unmount();
    return {
      summary: `${context.isDryRun ? 'would write' : 'wrote'} the cloud-init seed for a ${kind} system on ${target.device}`,
      data: { kind, files: files.map((file) => file.path) },
    };
  },
});

/** As the firmware gives it; undefined where it gives none, or the same to every machine. */
async function systemUuid(): Promise<string | undefined> {
  const text = await readFile('/sys/class/dmi/id/product_uuid', 'utf8').catch(() => '');
  const uuid = text.trim().toLowerCase();
  const isReal = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid) && new Set(uuid).size > 3;
  return isReal ? uuid : undefined;
}

/** Files of the image that would shadow ours: of two that set the same, cloud-init takes the one whose name sorts last. */
async function filesThatWin(root: string): Promise<string[]> {
  const folder = await pathInRoot(root, path.dirname(SETTINGS_PATH));
  const later = (await readdir(folder).catch(() => [])).filter(
    (name) => name.endsWith('.cfg') && name > path.basename(SETTINGS_PATH),
  );
  const texts = await Promise.all(
    later.map(async (name) =>
      readFile(await pathInRoot(root, `${path.dirname(SETTINGS_PATH)}/${name}`), 'utf8'),
    ),
  );
  return later.filter((_, index) => /^datasource(_list)?\s*:/m.test(texts[index] ?? ''));
}

/** Edge Microvisor images name their state partition and carry the list of what of /etc lasts. */
async function recognizeKind(root: string, { disk }: TargetFilesystem): Promise<'mutable' | 'immutable'> {
  if (disk?.partitions.some(({ partLabel }) => partLabel === 'edge_persistent')) return 'immutable';
  return (await fileExists(path.join(root, 'etc/layout.env'))) ? 'immutable' : 'mutable';
}
