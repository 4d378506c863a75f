import type { StubEvent } from '../orchestrator-stub/events/bus.ts';
import { megabytes } from './figures.ts';
import type { News, StageId } from './stages.ts';

/** Which action of the templates ends which stage. */
const STAGE_OF_ACTION: Readonly<Record<string, StageId>> = {
  'erase-non-removable-disk': 'erased',
  'stream-os-image': 'written',
  'install-cloud-init': 'cloud-init',
  'efibootset-for-diskboot': 'boot-order',
};

const STAGE_OF_CHANGE: Readonly<Record<string, StageId>> = {
  discovered: 'discovered',
  onboarded: 'onboarded',
  running: 'running',
  committed: 'committed',
};

/** What an event of the orchestrator says about the way of the node it is about. */
export function readStubEvent(event: StubEvent): News[] {
  switch (event.type) {
    case 'netboot':
      return readNetboot(event);
    case 'node': {
      if (event.status.includes('KND_FIRST_BOOT_FAILED')) return [{ type: 'fatal', message: event.status }];
      const id = STAGE_OF_CHANGE[event.change];
      return id ? [{ type: 'stage', id, detail: event.status }] : [];
    }
    case 'workflow':
      return readWorkflow(event);
    case 'log':
    case 'floor':
    case 'import':
      return [];
  }
}

function readNetboot({ step, what, bytes }: Extract<StubEvent, { type: 'netboot' }>): News[] {
  if (step === 'dhcp') return [{ type: 'stage', id: 'offer', detail: what }];
  if (/\.(efi|kpxe)$/.test(what))
    return [{ type: 'stage', id: 'ipxe', detail: `${what}, ${megabytes(bytes)} over ${step.toUpperCase()}` }];
  if (what === 'boot.ipxe') return [{ type: 'stage', id: 'script', detail: what }];
  if (what.startsWith('initramfs')) return [{ type: 'stage', id: 'micro-os', detail: megabytes(bytes) }];
  return [];
}

function readWorkflow(event: Extract<StubEvent, { type: 'workflow' }>): News[] {
  const { finished, state, action, index, total, message } = event;
  const id = finished ? STAGE_OF_ACTION[finished.action] : undefined;
  const isOver = state === 'FAILED' || state === 'TIMEOUT' || state === 'CANCELLED';
  return [
    ...(finished && id ? [{ type: 'stage' as const, id, detail: finished.message }] : []),
    ...(isOver ? [{ type: 'fatal' as const, message: `${action}: ${message || state}` }] : []),
    { type: 'doing', text: `${index + 1}/${total} ${action}${message ? ` · ${message}` : ''}` },
  ];
}
