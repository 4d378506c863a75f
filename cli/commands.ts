import type { Command } from 'commander';

/** A module of this folder (or another part's) adds options, sub-commands and the action to the command it is given. */
type Define = (command: Command) => void;

/** One line per sub-command: name, what it does, and the module that is loaded only when it is used. */
export const COMMANDS: [name: string, summary: string, load: () => Promise<Define>][] = [
  ['serve', 'start the orchestrator', async () => (await import('./serve.ts')).defineServe],
  [
    'node',
    'list, register, watch and re-provision nodes',
    async () => (await import('./node/node.ts')).defineNode,
  ],
  ['profile', 'what may be installed on nodes', async () => (await import('./profile.ts')).defineProfile],
  ['bom', 'what machines have to be made of', async () => (await import('./bom.ts')).defineBom],
  ['site', 'see and change the site’s settings', async () => (await import('./site.ts')).defineSite],
  [
    'workflow',
    'what nodes are told to do, and how far they are',
    async () => (await import('./workflow.ts')).defineWorkflowCommand,
  ],
  ['user', 'people, and what each may do', async () => (await import('./user.ts')).defineUser],
  ['token', 'personal tokens: make, list and revoke', async () => (await import('./token.ts')).defineToken],
  [
    'sign-in',
    'a token for this machine, from somebody who is signed in elsewhere',
    async () => (await import('./sign-in.ts')).defineSignIn,
  ],
  [
    'approve',
    'sign in the program that shows a code',
    async () => (await import('./sign-in.ts')).defineApprove,
  ],
  [
    'audit',
    'who did what, and whether a line was changed',
    async () => (await import('./audit.ts')).defineAudit,
  ],
  [
    'apply',
    'make the site as files say: objects of ours, of Tinkerbell, or EMF’s CSV',
    async () => (await import('./site-files/apply.ts')).defineApply,
  ],
  [
    'export',
    'print the site as objects that "apply" takes',
    async () => (await import('./site-files/export.ts')).defineExport,
  ],
  [
    'build',
    'make the agent executable and the Micro-OS',
    async () => (await import('./build.ts')).defineBuild,
  ],
  [
    'image',
    'make, check, compare, unpack and sign disk images',
    async () => (await import('./image.ts')).defineImage,
  ],
  [
    'certificate',
    'check what the erasure of a disk left in writing',
    async () => (await import('./certificate.ts')).defineCertificate,
  ],
  [
    'record',
    'shipping records, labels and batches; check them; how the shift went',
    async () => (await import('./record/record.ts')).defineRecord,
  ],
  [
    'simulate',
    'agents without machines: a floor at work before there is one',
    async () => (await import('./simulate.ts')).defineSimulate,
  ],
  [
    'state',
    'move a site’s state between databases; change the key of its secrets',
    async () => (await import('./state.ts')).defineState,
  ],
  ['pxe', 'serve DHCP, proxy DHCP and TFTP on one network', async () => (await import('./pxe.ts')).definePxe],
  [
    'mirror',
    'keep and serve the boot files of a remote orchestrator',
    async () => (await import('./mirror.ts')).defineMirror,
  ],
  [
    'standalone',
    'check a config file, render its cloud-init, write a USB stick',
    async () => (await import('./standalone.ts')).defineStandalone,
  ],
  [
    'version',
    'what this program is, and whether it is the one that was released',
    async () => (await import('./version.ts')).defineVersion,
  ],
];
