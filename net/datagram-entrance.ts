/** What a server that takes datagrams of anybody says about itself in the table of open entrances. */
export interface DatagramEntrance {
  protocol: string;
  /** The ports it is bound to; absent: the one that the operator chooses. */
  ports?: readonly number[];
  /** What a stranger can bring about. */
  changes: string;
  /** How much of it. Numbers come from the constants that the server obeys. */
  limits: string;
}
