import type { NodeId } from './ids.ts';
/** Who a machine is, as far as its firmware tells the truth. */
export interface Identity {
  /** SMBIOS system UUID, lower case with dashes, in the byte order Linux prints; undefined if junk. */
  uuid?: string;
  /** The same UUID with the first three fields byte-swapped, as SMBIOS < 2.6 tools and iPXE may print it. */
  uuidAlias?: string;
  /** System serial number; undefined if it is a placeholder. */
  serial?: string;
  manufacturer?: string;
  product?: string;
  /** Permanent MAC addresses, lower case with colons, the NIC that booted first. */
  macs: string[];
  /** MAC of the NIC the machine booted from, if known. */
  bootMac?: string;
  /** Stable across boots and reinstalls: derived from the best of uuid, serial, macs. */
  nodeId: NodeId;
  /** What nodeId was derived from, and what was rejected and why. */
  evidence: IdentityEvidence[];
}

export interface IdentityEvidence {
  field: 'uuid' | 'serial' | 'board-serial' | 'chassis-serial' | 'mac';
  value: string;
  /** 0 = rejected … 100 = as good as it gets. */
  score: number;
  reason: string;
}
