/** What is known of a machine's parts, for people and for comparison. What the machine did not say is null or left out of its list. */
export interface HardwareFacts {
  manufacturer: string | null;
  product: string | null;
  cpu: { model: string; sockets: number | null; cores: number | null } | null;
  memoryBytes: number | null;
  disks: DiskFacts[];
  nics: NicFacts[];
  firmware: {
    kind: string | null;
    vendor: string | null;
    version: string | null;
    date: string | null;
    secureBoot: string | null;
  };
  tpm: { version: string; manufacturer: string | null } | null;
}

export interface DiskFacts {
  path: string;
  bus: string | null;
  model: string | null;
  serial: string | null;
  wwn: string | null;
  sizeBytes: number | null;
}

export interface NicFacts {
  name: string;
  /** The one burned into the card, where the driver tells. */
  mac: string | null;
  driver: string | null;
  speedMbps: number | null;
}
