/** The stages of a boot, in order; markers and the console use these words. */
export type Stage =
  | 'agent'
  | 'site'
  | 'devices'
  | 'identity'
  | 'network'
  | 'clock'
  | 'inventory'
  | 'action'
  | 'stick'
  | 'run'
  | 'fatal'
  | 'power';
