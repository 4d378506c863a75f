import type { MachineFiles } from '../../../system/machine-files.ts';
import type { Run } from '../../../system/run.ts';
import type { View } from '../../console/view.ts';
import type { PhysicalNic } from '../../identity/physical-nics.ts';
import type { DhcpClients } from './dhcp-client.ts';
import type { NetworkTimeouts } from './diagnose.ts';
import type { Target } from './reach.ts';

/** What bringing up the network needs of the machine. */
export interface NetworkContext {
  files: MachineFiles;
  run: Run;
  dhcp: DhcpClients;
  view: View;
  listNics: () => PhysicalNic[];
  /** PCI network cards no driver took, for people. */
  cardsWithoutDriver: () => string[];
  bootMac: string | undefined;
  /** The orchestrator: the card that reaches one of these is chosen. Empty: the first card with an address. */
  targets: readonly Target[];
  timeouts: NetworkTimeouts;
  signal: AbortSignal;
}
