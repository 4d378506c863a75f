import type { Machine } from '../../actions/contract/action.ts';
import type { Inventory } from '../../protocol/inventory.ts';
import type { StickMachine } from '../../protocol/stick.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { Run } from '../../system/run.ts';
import type { Consoles } from '../console/consoles.ts';
import type { View } from '../console/view.ts';
import type { Stick } from './medium.ts';
import type { StartChild } from './run-step.ts';
import type { StickFolder } from './stick-folder.ts';

/** What an installation from a stick needs of the machine it runs on. */
export interface StickContext {
  args: KernelArguments;
  inventory: Inventory;
  view: View;
  consoles: Pick<Consoles, 'names' | 'marker'>;
  signal: AbortSignal;
  machine: Machine;
  run: Run;
  startChild: StartChild;
}

/** The same, once the stick is found and has an entry for this machine. */
export interface Installation extends StickContext {
  stick: Stick;
  entry: StickMachine;
  folder: StickFolder | undefined;
  log: string[];
  say: (text: string) => void;
}
