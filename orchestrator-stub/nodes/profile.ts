import { z } from 'zod';
import { ERASE_METHODS } from '../../protocol/erase-methods.ts';
import { KindlingError } from '../../protocol/error.ts';
import { PROOF_REQUIREMENTS } from '../proof/decide-proof.ts';
import { AgentsSchema } from './agents.ts';
import { BillSchema } from './bill.ts';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/, 'letters, digits, dot, dash and underscore');

/** An operating system and how to put it on a node. */
export const ProfileSchema = z
  .strictObject({
    name,
    osType: z.enum(['MUTABLE', 'IMMUTABLE']).default('MUTABLE'),
    template: name
      .nullable()
      .default(null)
      .describe(
        'Workflow template; by default “iso” for the format iso, “ubuntu” for MUTABLE, “microvisor” for IMMUTABLE',
      ),
    imageUrl: z
      .string()
      .min(1)
      .max(2000)
      .describe('An absolute URL, or for IMMUTABLE a path on the release file server'),
    imageSha256: z
      .string()
      .regex(/^([0-9a-f]{64})?$/, '64 hexadecimal digits')
      .default('')
      .describe('Of the file as it is downloaded, compressed'),
    imageFormat: z
      .enum(['auto', 'raw', 'qcow2', 'iso'])
      .default('auto')
      .describe(
        'auto: a URL with “.img” whose first bytes are those of qcow2 is qcow2, anything else raw; iso: a hybrid ISO, written as it is',
      ),
    imageCaCert: z.string().max(20_000).default('').describe('PEM of the CA of the image server'),
    security: z
      .enum(['UNSPECIFIED', 'NONE', 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION'])
      .default('NONE')
      .describe(
        'As EMF reads it: NONE wants Secure Boot off, the others on; UNSPECIFIED does so without encryption',
      ),
    proof: z
      .enum(PROOF_REQUIREMENTS)
      .nullable()
      .default(null)
      .describe('Whether nodes with this profile prove themselves by their TPM; by default as the site says'),
    eraseMethod: z
      .enum(ERASE_METHODS)
      .default('auto')
      .describe(
        'How disks are erased first; auto is quick and proves nothing, the NVMe and ATA methods prove it',
      ),
    bill: BillSchema.nullable()
      .default(null)
      .describe('Parts that a machine must have before anything is written to it; null: any'),
    lvmSizeGb: z.number().int().min(0).max(100_000).default(0),
    kernelVersion: z.string().max(100).default(''),
    skipKernelUpgrade: z.boolean().default(false),
    localAccount: z
      .strictObject({ user: z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/), sshKey: z.string().max(5000) })
      .nullable()
      .default(null),
    standalone: z
      .boolean()
      .default(false)
      .describe(
        'The installed system belongs to nobody here: no name, no credentials, no CA, no agents, and it calls nothing',
      ),
    after: z
      .enum(['reboot', 'poweroff', 'stay'])
      .default('reboot')
      .describe(
        'What the machine does when it is written: starts its disk, switches off, or stays in the Micro-OS',
      ),
    metadata: z
      .record(z.string(), z.string())
      .default({})
      .describe('EMF’s “standalone-node”: "true" is the same as `standalone`'),
    customConfigs: z
      .array(z.strictObject({ name, content: z.string().max(200_000) }))
      .max(50)
      .default([])
      .describe('Further cloud-init files'),
    cloudInit: z
      .string()
      .max(500_000)
      .nullable()
      .default(null)
      .describe('Replaces the built-in 99_infra.cfg'),
    installerScript: z
      .string()
      .max(500_000)
      .nullable()
      .default(null)
      .describe(
        'Runs on the installed system (MUTABLE) until it leaves `/home/postinstall/Setup/.base_pkg_install_done`',
      ),
    agents: AgentsSchema.nullable()
      .default(null)
      .describe('The agents that take over the installed system; it counts as running when they do'),
    variables: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
      .default({})
      .describe('Further values for the template'),
  })
  .meta({ id: 'Profile' });

/** Whatever cannot work is said now, not when the first node shows up. */
export async function checkProfile(
  profile: Profile,
  template: (name: string) => Promise<unknown>,
): Promise<void> {
  await template(templateOf(profile));
  const fault = contradiction(profile);
  if (fault) throw new KindlingError('KND_PROFILE_INVALID', `profile ${profile.name}: ${fault}`);
  if (profile.osType === 'MUTABLE' && !/^(https?|oci):$/.test(URL.parse(profile.imageUrl)?.protocol ?? '')) {
    throw new KindlingError(
      'KND_PROFILE_INVALID',
      `the image of profile ${profile.name} is "${profile.imageUrl}", which is no address: http://…, https://… or oci://…`,
    );
  }
}

/** Contradictions within a profile: what such a system could never do. */
function contradiction(profile: Profile): string | undefined {
  const { agents, installerScript, osType } = profile;
  if (
    profile.imageFormat === 'iso' &&
    (agents ?? installerScript ?? profile.cloudInit ?? profile.localAccount)
  )
    return 'an ISO is written as it is: no agents, installer, cloud-init or account can be placed in it';
  if (profile.imageFormat === 'iso' && profile.security === 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION')
    return 'an ISO is written as it is: its disk cannot be encrypted';
  if (osType === 'IMMUTABLE' && installerScript !== null)
    return 'an immutable system runs no installer script';
  if (osType === 'IMMUTABLE' && agents?.packages.length)
    return 'an immutable system installs no packages: its image has the agents';
  if (agents?.packages.length && installerScript !== null)
    return 'it has packages for its agents and an installer script: the script installs everything';
  if (agents && isStandalone(profile)) return 'a standalone node has no agents';
  if (agents && profile.cloudInit !== null)
    return 'its own cloudInit replaces the file that starts its agents';
  return undefined;
}

/** Whether the installed system runs only when something more has been installed or started on it. */
export function hasAgents(profile: Profile): boolean {
  const isInstalling = profile.osType === 'MUTABLE' && profile.installerScript !== null;
  return reportsFirstBoot(profile) && profile.cloudInit === null && (isInstalling || profile.agents !== null);
}

export type Profile = z.output<typeof ProfileSchema>;

/** A profile as an older version saved it, with the defaults of the fields that came later. */
export function completeProfile(saved: Profile): Profile {
  return ProfileSchema.safeParse(saved).data ?? saved;
}

export function templateOf(profile: Profile): string {
  if (profile.template !== null) return profile.template;
  if (profile.imageFormat === 'iso') return 'iso';
  return profile.osType === 'IMMUTABLE' ? 'microvisor' : 'ubuntu';
}

/** Whether the installed system will tell that it has booted. In an ISO there is nothing of ours that could. */
export function reportsFirstBoot(profile: Profile): boolean {
  return !isStandalone(profile) && profile.imageFormat !== 'iso';
}

export function isStandalone(profile: Profile): boolean {
  return profile.standalone || profile.metadata['standalone-node'] === 'true';
}
