import { KindlingError } from '../../../protocol/error.ts';

export interface DemoOptions {
  firmware: 'ovmf' | 'seabios';
  memoryMb: number;
  showConsole: boolean;
  keep: boolean;
  /** Where to draw the run, docs/images/demo.svg. */
  picture: string | undefined;
}

/** Checks the options of `kindling demo`. */
export function readDemoOptions(options: Record<string, string | boolean>): DemoOptions {
  const { firmware, memory } = options;
  if (firmware !== 'ovmf' && firmware !== 'seabios') {
    throw new KindlingError('KND_USAGE', `--firmware ${firmware}: it can be ovmf or seabios`);
  }
  const memoryMb = Number(memory);
  if (!Number.isInteger(memoryMb) || memoryMb < 128) {
    throw new KindlingError('KND_USAGE', `--memory ${memory}: give megabytes, 128 or more`);
  }
  const picture = typeof options['picture'] === 'string' ? options['picture'] : undefined;
  return {
    picture,
    firmware,
    memoryMb,
    showConsole: options['console'] === true,
    keep: options['keep'] === true,
  };
}
