import { actionForImage } from '../actions/catalog.ts';
import { KindlingError } from '../protocol/error.ts';

/** What a simulated machine does when it is told to run an action. */
export interface ActionPlan {
  stage: string;
  seconds: number;
  /** Bytes that it seems to write; absent where an action writes nothing worth telling. */
  bytes?: number;
  /** Where it stops, and why: a share of the whole. */
  fault?: { at: number; error: KindlingError };
  isReboot?: boolean;
}

/** What a machine has that will go wrong. */
export type Defect = 'worn disk' | 'damaged image' | 'two disks';

const DEFECTS: readonly Defect[] = ['worn disk', 'damaged image', 'two disks'];
const IMAGE_BYTES = 4 * 2 ** 30;
/** Seconds of each kind of action on a small box with NVMe; what is not here takes one second. */
const KINDS: readonly (readonly [image: RegExp, plan: ActionPlan])[] = [
  [
    /^(?:image2disk|qemuimg2disk|oci2disk|iso2disk)$/,
    { stage: 'writing image', seconds: 40, bytes: IMAGE_BYTES },
  ],
  [/^erase_non_removable_disks$/, { stage: 'erasing nvme0n1', seconds: 6 }],
  [/^fde_dmv$/, { stage: 'encrypting', seconds: 25 }],
  [/^reboot$/, { stage: 'rebooting', seconds: 1, isReboot: true }],
];
const OTHER: ActionPlan = { stage: 'working', seconds: 1 };

/** The defects of a fleet: `failing` machines of `count`, spread over it, each kind in turn. */
export function defectOf(number: number, fleet: { count: number; failing: number }): Defect | undefined {
  if (fleet.failing === 0) return undefined;
  const every = Math.max(1, Math.floor(fleet.count / fleet.failing));
  const nth = Math.floor(number / every);
  const isBad = number % every === every - 1 && nth < fleet.failing;
  return isBad ? DEFECTS[nth % DEFECTS.length] : undefined;
}

/** `image` as in the workflow; `pace` tells machines apart: 1 is usual, 1.2 a fifth slower. */
export function planAction(image: string, pace: number, defect: Defect | undefined): ActionPlan {
  const name = actionForImage(image)?.name ?? '';
  const [, usual] = KINDS.find(([pattern]) => pattern.test(name)) ?? ['', OTHER];
  const fault = faultOf(usual, defect);
  return { ...usual, seconds: usual.seconds * pace, ...(fault ? { fault } : {}) };
}

function faultOf({ stage, bytes }: ActionPlan, defect: Defect | undefined): ActionPlan['fault'] {
  if (defect === 'two disks' && stage.startsWith('erasing'))
    return {
      at: 0,
      error: new KindlingError(
        'KND_DISK_AMBIGUOUS',
        'two disks fit: /dev/nvme0n1 (256 GiB) and /dev/sda (256 GiB)',
      ),
    };
  if (bytes === undefined) return undefined;
  if (defect === 'worn disk')
    return {
      at: 0.61,
      error: new KindlingError('KND_DISK_WRITE', '/dev/nvme0n1: input/output error at 2.4 GiB'),
    };
  if (defect === 'damaged image')
    return {
      at: 1,
      error: new KindlingError('KND_IMAGE_HASH', 'the image has another SHA-256 than the profile says'),
    };
  return undefined;
}
