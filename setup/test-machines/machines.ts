import { KindlingError } from '../../protocol/error.ts';

/** A machine on which `npm test` has to pass. */
export interface TestMachine {
  name: string;
  summary: string;
  /** Debian packages that are there before `npm test` installs its own. */
  packages: readonly string[];
  /** Runs beside the tests and takes what it can get. */
  beside?: readonly string[];
  /** How many checkouts are tested at the same time. */
  checkouts: number;
}

export const TEST_MACHINES: readonly TestMachine[] = [
  { name: 'fresh', summary: 'a fresh Debian 12', packages: [], checkouts: 1 },
  {
    name: 'containers',
    summary: 'one with Docker, containerd and runc',
    packages: ['docker.io', 'containerd', 'runc'],
    checkouts: 1,
  },
  {
    name: 'busy',
    summary: 'one with two busy processes beside the tests',
    packages: ['stress-ng'],
    beside: ['stress-ng', '--cpu', '2', '--quiet'],
    checkouts: 1,
  },
  { name: 'two', summary: 'one that tests two checkouts at the same time', packages: [], checkouts: 2 },
];

/** Names before `--` choose machines (all of them without one); what follows goes to `npm test`. */
export function chooseMachines(args: readonly string[]): { machines: TestMachine[]; testArgs: string[] } {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const names = args.slice(0, end);
  const known = TEST_MACHINES.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new KindlingError('KND_USAGE', `unknown machine "${unknown}"; known: ${known.join(', ')}`);
  }
  const machines = TEST_MACHINES.filter(({ name }) => names.length === 0 || names.includes(name));
  return { machines, testArgs: args.slice(end + 1) };
}
