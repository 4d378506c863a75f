import type { ActionEvent, HandOver } from '../../protocol/action-events.ts';
import type { Disk, Firmware } from '../../protocol/inventory.ts';
import type { Run } from '../../system/run.ts';
import type { Resources } from '../resources/resources.ts';
import type { Parameters, Values } from './parameters.ts';

/** What an action needs to know about the machine it runs on; the agent passes the real one, tests their own. */
export interface Machine {
  /** Read afresh on every call: disks come and go while actions run. */
  listDisks(): Promise<Disk[]>;
  secureBoot(): Promise<Firmware['secureBoot']>;
}

export interface ActionContext {
  machine: Machine;
  run: Run;
  /** Aborted on cancel and on timeout. */
  signal: AbortSignal;
  emit(event: ActionEvent): void;
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void;
  /** Mounts, loop devices, mappings and locks: undone when the action ends, however it ends. */
  resources: Resources;
  /** All variables as they came, for actions that pass them on to a command. */
  environment: Readonly<Record<string, string>>;
  /** The image name by which a workflow asked for the action. */
  image?: string;
  /** Arguments after the image's entry point: rootio's "partition", "format", … */
  args: readonly string[];
  /** Show the plan, touch nothing. */
  isDryRun: boolean;
}

export interface ActionResult {
  /** One line for a person: "wrote 4.0 GiB to /dev/nvme0n1". */
  summary: string;
  data?: Record<string, unknown>;
  /** What the agent does once the server knows that this action succeeded. */
  handOver?: HandOver;
}

export interface Action<P extends Parameters = Parameters> {
  name: string;
  /** Other last path components that select this action: old hub names, EMF names. */
  aliases: readonly string[];
  summary: string;
  parameters: P;
  /** Whether it can destroy data that was on the machine before. */
  destroysData: boolean;
  /** Whether a second run after a success or a kill gives the same result. */
  mayRunAgain: boolean;
  /** Variables it does not know are passed on to a command, so they are no mistake. */
  passesVariablesOn?: boolean;
  /** Further paragraphs for the reference page: differences from the reference action, examples. */
  notes?: readonly string[];
  run(variables: Values<P>, context: ActionContext): Promise<ActionResult>;
}

/** Declares an action; only here so that the types of its variables follow from its parameters. */
export function defineAction<const P extends Parameters>(action: Action<P>): Action<P> {
  return action;
}
