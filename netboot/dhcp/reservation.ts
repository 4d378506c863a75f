/** What the site says about one machine's address. */
export interface Reservation {
  mac: string;
  address: string;
  subnetMask: string;
  gateway?: string;
  dnsServers?: string[];
  ntpServers?: string[];
  hostName?: string;
  domainName?: string;
  leaseSeconds?: number;
  /** false: the machine gets its address but nothing to boot (its installed disk is to start). */
  allowsNetboot?: boolean;
}

/** Answers "which address has this MAC?" for DHCP in reservation mode. */
export interface Reservations {
  find(mac: string): Reservation | undefined;
}
