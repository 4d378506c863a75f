import { describe, expect, test } from 'vitest';
import { applyBootPlan } from '../../../actions/boot-order/boot-order.ts';
import { type BootState, readBootState } from '../../../actions/boot-order/boot-state.ts';
import type { EfiVariables } from '../../../actions/boot-order/efi-variables.ts';
import {
  type BootPlan,
  planBootOrder,
  type WantedBoot,
} from '../../../actions/boot-order/plan-boot-order.ts';
import { pathToLoader } from '../../../formats/efi/device-path.ts';
import { encodeLoadOption } from '../../../formats/efi/load-option.ts';
import { bootEntryName, encodeEntryNumbers } from '../../../formats/efi/variables.ts';
import { rounds, testIntegers } from '../../seeds/seeds.ts';

const FIRMWARES = rounds(400);
const OURS = '11111111-2222-3333-4444-555555555555';
const ANOTHER = '99999999-2222-3333-4444-555555555555';
const GONE = '77777777-2222-3333-4444-555555555555';
const LOADER = '\\EFI\\BOOT\\BOOTX64.EFI';
const LABELS = ['UEFI PXEv4', 'hookos', 'ubuntu', 'Kindling', 'Kindling old', 'Windows Boot Manager'];

type Variables = Map<string, Buffer>;

/** Firmware changes a variable as a whole (UEFI 2.10, 8.2.3): a power cut comes between two changes. This one comes after `changes`. */
function firmwareOf(variables: Variables, changes = Number.POSITIVE_INFINITY): EfiVariables {
  let left = changes;
  const change = async (work: () => void) => {
    if (left === 0) throw new Error('power cut');
    left -= 1;
    work();
  };
  return {
    names: async () => [...variables.keys()],
    read: async (name) => variables.get(name),
    write: (name, value) => change(() => variables.set(name, value)),
    remove: (name) => change(() => variables.delete(name)),
  };
}

const drive = (partUuid: string) => ({ partition: 1, startLba: 2048n, sizeLba: 1000n, partUuid });

/** A firmware as it may be found: entries of ours, of others, of what is gone; in any order, some in none. */
function drawFirmware(below: (limit: number) => number): Variables {
  const variables: Variables = new Map();
  const numbers: number[] = [];
  const count = below(7);
  for (let i = 0; i < count; i += 1) {
    const place = [undefined, OURS, ANOTHER, GONE][below(4)];
    const option = encodeLoadOption({
      attributes: 1,
      description: LABELS[below(LABELS.length)] ?? '',
      devicePath: place === undefined ? [] : pathToLoader(drive(place), LOADER),
      optionalData: Buffer.alloc(0),
    });
    const number = below(12);
    variables.set(bootEntryName(number), option);
    if (!numbers.includes(number)) numbers.splice(below(numbers.length + 1), 0, number);
  }
  const order = numbers.filter(() => below(5) > 0);
  variables.set('BootOrder', encodeEntryNumbers(order));
  const [current] = order;
  if (current !== undefined && below(4) > 0) variables.set('BootCurrent', encodeEntryNumbers([current]));
  if (current !== undefined && below(4) === 0) variables.set('BootNext', encodeEntryNumbers([current]));
  return variables;
}

function drawWanted(below: (limit: number) => number): WantedBoot {
  return {
    label: 'Kindling',
    drive: drive(OURS),
    loader: LOADER,
    partitions: [OURS, ANOTHER],
    policy: (['disk-first', 'keep-order', 'after-report'] as const)[below(3)] ?? 'disk-first',
    removeLabels: below(2) === 0 ? ['hookos'] : [],
    demoteCurrent: below(2) === 0,
  };
}

/** What is wrong with a firmware that lost power in the middle; undefined if it boots what it booted before, or the new system. */
function fault(before: BootState, now: BootState, plan: BootPlan): string | undefined {
  const dangling = now.order.find((number) => !now.entries.has(number));
  if (dangling !== undefined) return `the order names ${bootEntryName(dangling)}, which is not there`;
  if (now.next !== undefined && !now.entries.has(now.next)) return 'the next boot goes to nothing';
  const lost = [...before.entries.keys()].find(
    (number) => !now.entries.has(number) && plan.order.includes(number),
  );
  if (lost !== undefined) return `${bootEntryName(lost)} is lost, which was to stay`;
  return before.order.length > 0 && now.order.length === 0 ? 'there is no order any more' : undefined;
}

interface Found {
  states: number;
  faults: string[];
}

/** Cuts the power after each change of each plan; then the action runs again. */
async function explore(
  below: (limit: number) => number,
  mutate: (plan: BootPlan) => BootPlan = (plan) => plan,
): Promise<Found> {
  const found: Found = { states: 0, faults: [] };
  for (let i = 0; i < FIRMWARES; i += 1) {
    const start = drawFirmware(below);
    const wanted = drawWanted(below);
    const before = await readBootState(firmwareOf(start));
    const plan = mutate(planBootOrder(before, wanted));
    const whole = new Map(start);
    await applyBootPlan(firmwareOf(whole), plan);
    for (let changes = 0; changes <= plan.changes.length; changes += 1) {
      const variables = new Map(start);
      await applyBootPlan(firmwareOf(variables, changes), plan).catch(() => {});
      const now = await readBootState(firmwareOf(variables));
      const wrong = fault(before, now, plan) ?? (await faultOfSecondRun(variables, wanted, whole));
      if (wrong) found.faults.push(`firmware ${i} after ${changes} changes: ${wrong}`);
      found.states += 1;
    }
  }
  return found;
}

/** Run again it ends where it would have ended at once. */
async function faultOfSecondRun(
  variables: Variables,
  wanted: WantedBoot,
  whole: Variables,
): Promise<string | undefined> {
  const again = firmwareOf(variables);
  await applyBootPlan(again, planBootOrder(await readBootState(again), wanted));
  const [one, other] = [await readBootState(again), await readBootState(firmwareOf(whole))];
  const entryOf = ({ order, entries }: BootState) => order.map((number) => entries.get(number)?.description);
  return JSON.stringify(entryOf(one)) === JSON.stringify(entryOf(other))
    ? undefined
    : `a second run gives ${entryOf(one).join(', ')} instead of ${entryOf(other).join(', ')}`;
}

describe('a power cut between any two changes of the firmware’s variables', () => {
  test('leaves a machine that boots, and a second run ends as the first would have', async () => {
    const { states, faults } = await explore(testIntegers(20_261_118));
    expect(faults.slice(0, 5), `of ${states} states`).toEqual([]);
    expect(states).toBeGreaterThan(FIRMWARES * 2);
  });

  test('is noticed where entries go before the order, or come after it', async () => {
    const reverse = (plan: BootPlan) => ({ ...plan, changes: plan.changes.toReversed() });
    expect((await explore(testIntegers(20_261_118), reverse)).faults).not.toEqual([]);
  });
});
