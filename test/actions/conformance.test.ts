import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CATALOG } from '../../actions/catalog.ts';

/** A test by its file (below test/actions) and a part of its title; or why there is none. */
type Evidence = readonly [file: string, title: string] | { because: string };

const TINKERBELL = 'tinkerbell-actions.integration.test.ts';
const RUN_ACTION = 'process/start-child.integration.test.ts';
const TEMPLATES = 'templates.qemu.test.ts';
const ENCRYPTION = 'microvisor/encryption.qemu.test.ts';
const LEFTOVERS = 'erase/leftovers.qemu.test.ts';
const BOOT_ORDER = 'boot-order/plan-boot-order.test.ts';
const changesNothing = { because: 'it changes nothing that could be left half done' };
const placing = [
  'killed-while-placing.integration.test.ts',
  'leaves each file old or new and nothing switched on too early; a second run finishes',
] as const;
const writer = [
  'image-writer/kill-matrix.integration.test.ts',
  'leaves the whole image or nothing bootable',
] as const;

/** What every action must have been put through: a kill in the middle and a run after it; a second run after a success. */
const TESTS: Record<string, { killed: Evidence; again: Evidence }> = {
  securebootflag: { killed: changesNothing, again: changesNothing },
  erase_non_removable_disks: {
    killed: [LEFTOVERS, 'killed before the check or not, and proves it'],
    again: [LEFTOVERS, 'finds nothing when it is run again'],
  },
  image2disk: { killed: writer, again: writer },
  qemuimg2disk: { killed: writer, again: writer }, // qcow2 is one of its images
  iso2disk: { killed: writer, again: writer },
  oci2disk: {
    killed: [TINKERBELL, 'oci2disk leaves nothing bootable, and a second run writes the whole image'],
    again: [TINKERBELL, 'by its digest, and again'],
  },
  archive2disk: {
    killed: [
      TINKERBELL,
      'archive2disk leaves nothing mounted and nothing unpacked, and a second run succeeds',
    ],
    again: [
      TINKERBELL,
      'archive2disk, killed while it unpacks, leaves nothing mounted, and a second run makes everything whole',
    ],
  },
  rootio: {
    killed: ['rootio/rootio.integration.test.ts', 'stopped at any write, is made whole by a second run'],
    again: [LEFTOVERS, 'rootio makes partitions and logical volumes, twice'],
  },
  writefile: {
    killed: placing,
    again: [RUN_ACTION, 'run again gives an existing file the new content and mode'],
  },
  fetchfile: {
    killed: ['fetchfile/fetchfile.integration.test.ts', 'killed in the middle leaves the old file'],
    again: ['fetchfile/fetchfile.integration.test.ts', 'killed in the middle leaves the old file'],
  },
  cexec: {
    killed: [RUN_ACTION, 'an action that is killed outright is cleaned up after, and the next run works'],
    again: { because: 'what its command does the second time is the command’s affair' },
  },
  'cloud-init': { killed: placing, again: placing },
  'first-boot-report': { killed: placing, again: placing },
  'post-mortem': { killed: changesNothing, again: changesNothing },
  kernelupgrd: {
    killed: [TEMPLATES, 'from the image to the boot order, kernelupgrd killed in the middle'],
    again: [TEMPLATES, 'from the image to the boot order, kernelupgrd killed in the middle'],
  },
  'lvm-partition': {
    killed: ['lvm-partition/lvm-partition.qemu.test.ts', 'once, killed in the middle or not'],
    again: ['lvm-partition/lvm-partition.qemu.test.ts', 'once, killed in the middle or not'],
  },
  fde_dmv: {
    killed: [ENCRYPTION, 'is killed while it makes volumes, and then hit by a power cut'],
    again: ['ubuntu/encryption.qemu.test.ts', 'goes on after it with the same key'],
  },
  emt_partition: {
    killed: [TEMPLATES, 'killed in the middle, adds swap and a second root, and once more changes nothing'],
    again: [TEMPLATES, 'killed in the middle, adds swap and a second root, and once more changes nothing'],
  },
  efibootset: {
    killed: [
      BOOT_ORDER,
      'stopped after any of its changes, leaves a firmware that boots, and a second run ends as the first would have',
    ],
    again: [BOOT_ORDER, 'run twice changes nothing the second time'],
  },
  'boot-order': {
    killed: [
      BOOT_ORDER,
      'stopped after any of its changes, leaves a firmware that boots, and a second run ends as the first would have',
    ],
    again: [BOOT_ORDER, 'run twice changes nothing the second time'],
  },
  grub2disk: {
    killed: [
      TINKERBELL,
      'grub2disk ends what runs inside the system, unmounts it, and a second run succeeds',
    ],
    again: [TINKERBELL, 'grub2disk ends what runs inside the system, unmounts it, and a second run succeeds'],
  },
  syslinux: {
    killed: [LEFTOVERS, 'syslinux, killed in the middle, makes a BIOS start what is on the disk, and again'],
    again: [LEFTOVERS, 'syslinux, killed in the middle, makes a BIOS start what is on the disk, and again'],
  },
  slurp: {
    killed: [TINKERBELL, 'slurp stops uploading, and a second run sends everything'],
    again: [TINKERBELL, 'slurp stops uploading, and a second run sends everything'],
  },
  kexec: {
    killed: [
      TINKERBELL,
      'leaves neither a mount nor a copy of the kernel in memory, and a second run loads it',
    ],
    again: [
      TINKERBELL,
      'leaves neither a mount nor a copy of the kernel in memory, and a second run loads it',
    ],
  },
  reboot: { killed: changesNothing, again: changesNothing },
};

describe.each(CATALOG.map(({ name }) => name))('%s', (name) => {
  it('is tested for a kill in the middle and a second run, or says why not', () => {
    const evidence = TESTS[name];
    expect(evidence, `${name} has no line in this table`).toBeDefined();
    for (const each of Object.values(evidence ?? {})) {
      if ('because' in each) continue;
      const [file, title] = each;
      expect(readFileSync(path.join(import.meta.dirname, file), 'utf8')).toContain(title);
    }
  });
});

it('the table names no action that is gone', () => {
  const known = new Set(CATALOG.map(({ name }) => name));
  expect(Object.keys(TESTS).filter((name) => !known.has(name))).toEqual([]);
});

/** Tables over all actions name every variable, or none: they are no evidence for one of them. */
const TABLES = /(contracts|parameters|conformance|reference-page)\.test\.ts$/;
const otherTests = globSync('**/*.test.ts', { cwd: path.join(import.meta.dirname, '..') })
  .filter((file) => !TABLES.test(file))
  .map((file) => readFileSync(path.join(import.meta.dirname, '..', file), 'utf8'));

it('every variable of every action is used in a test of its own', () => {
  const unused = CATALOG.flatMap(({ name, parameters }) =>
    Object.keys(parameters)
      .filter((variable) => !otherTests.some((text) => new RegExp(`\\b${variable}\\b`).test(text)))
      .map((variable) => `${name}: ${variable}`),
  );
  expect(unused).toEqual([]);
});
