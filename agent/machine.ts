import type { Machine } from '../actions/contract/action.ts';
import { parseKernelArguments } from '../system/kernel-arguments.ts';
import { machineFiles } from '../system/machine-files.ts';
import { readBootMedium } from './inventory/boot-medium.ts';
import { readDisks } from './inventory/disks.ts';
import { readFirmware } from './inventory/firmware.ts';

const files = machineFiles();

/** The machine as the actions see it. */
export const machine: Machine = {
  listDisks: () =>
    readDisks(files, readBootMedium(files, parseKernelArguments(files.text('/proc/cmdline') ?? ''))),
  secureBoot: async () => readFirmware(files).secureBoot,
};
