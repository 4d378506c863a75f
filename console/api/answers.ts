import type { Inventory } from '../../protocol/inventory.ts';

/** What the console reads of the answers of the API; docs/reference/http-api.md has the rest. */
export interface NodeAnswer {
  id: string;
  name: string;
  uuid: string | null;
  serial: string | null;
  mac: string | null;
  ip: string | null;
  profile: string | null;
  site: string | null;
  metadata: Record<string, string>;
  generation: number;
  firstBootAt: string | null;
  createdAt: string;
  lastSeenAt: string | null;
  /** As the machine said it, which may be a stranger: any part may be missing. */
  inventory?: Partial<Inventory>;
}

export interface ActionAnswer {
  id: string;
  name: string;
  state: string;
  attempt: number;
  startedAt: string | null;
  stoppedAt: string | null;
  seconds: number;
  message: string;
}

export interface WorkflowAnswer {
  id: string;
  template: string;
  generation: number;
  state: string;
  isPaused: boolean;
  message: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  actions: ActionAnswer[];
}

export interface LogLineAnswer {
  stream: string;
  sequence: number;
  time: string;
  level: string;
  message: string;
}
