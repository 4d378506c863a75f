/** What the processes of the siege say to each other, besides those of the fleet. */
export interface SiegeReady {
  kind: 'ready';
  url: string;
  ca: string;
  token: string;
  syslogPort: number;
  tftpPort: number;
}

export interface AttackOrder {
  url: string;
  syslogPort: number;
  tftpPort: number;
  /** CPU seconds to burn per second, without sending anything; absent: attack. */
  burn?: number;
}

export interface AttackFigures {
  kind: 'attack';
  cpuSeconds: number;
  /** How often each attack was begun. */
  counts: Record<string, number>;
}

/** Loopback has 16 million addresses, and a server on 127.0.0.1 sees which one called. */
export const ADDRESSES: readonly string[] = Array.from({ length: 200 }, (_, index) => `127.1.0.${index + 1}`);
