/** The way of a node, in order; every stage is reached by an event of the real system, never by a clock. */
export const STAGES = [
  { id: 'power', title: 'power on' },
  { id: 'offer', title: 'boot offer' },
  { id: 'ipxe', title: 'iPXE' },
  { id: 'script', title: 'boot script' },
  { id: 'micro-os', title: 'Micro-OS loaded' },
  { id: 'agent', title: 'Micro-OS up' },
  { id: 'discovered', title: 'discovered' },
  { id: 'onboarded', title: 'onboarded' },
  { id: 'erased', title: 'disk erased' },
  { id: 'written', title: 'image written' },
  { id: 'cloud-init', title: 'cloud-init placed' },
  { id: 'boot-order', title: 'boot order set' },
  { id: 'restart', title: 'restart' },
  { id: 'kernel', title: 'installed kernel' },
  { id: 'first-boot', title: 'cloud-init runs' },
  { id: 'running', title: 'running' },
  { id: 'committed', title: 'boot order kept' },
] as const;

export type StageId = (typeof STAGES)[number]['id'];

export interface ReachedStage {
  id: StageId;
  /** Since power-on. */
  atMs: number;
  detail: string;
}

export function stageTitle(id: StageId): string {
  return STAGES.find((stage) => stage.id === id)?.title ?? id;
}

/** What an event says about a node's way. */
export type News =
  | { type: 'stage'; id: StageId; detail: string }
  | { type: 'notice'; code: string; message: string }
  /** What is going on inside a stage: "writing image 42 % · 12 s left". */
  | { type: 'doing'; text: string }
  | { type: 'fatal'; message: string };
