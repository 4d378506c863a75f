import { actionForImage, lastPathComponent } from '../catalog.ts';

/** Without an IMAGE in it there is nothing to run. */
export function isWaitdaemon(image: string): boolean {
  return lastPathComponent(image) === 'waitdaemon';
}

/** Longer than anybody waits for a reboot. */
const MOST_SECONDS = 3600;

/** What a workflow wants run: the image, its variables, its command. */
export interface Wanted {
  image: string;
  variables: Record<string, string>;
  args: readonly string[];
}

/**
 * Tinkerbell's waitdaemon reports success and only then runs the image it is told, because a reboot would outrun the report. Ours hand over after
 * the report by themselves, so the wrapper is taken off. The community's reboot is "IMAGE: alpine, command: [reboot]", where the image is only there
 * for its command: that is our reboot, with nothing to pull and no init process that would have to understand the signal.
 */
export function takeOffWaitdaemon(wanted: Wanted): Wanted {
  const { IMAGE, WAIT_SECONDS: _, ...variables } = wanted.variables;
  if (!isWaitdaemon(wanted.image) || !IMAGE) return wanted;
  const [program = ''] = wanted.args;
  const isReboot = !actionForImage(IMAGE) && lastPathComponent(program) === 'reboot';
  return isReboot
    ? { image: 'reboot', variables: {}, args: [] }
    : { image: IMAGE, variables, args: wanted.args };
}

/**
 * How many seconds after the report an image of others behind waitdaemon is to run; undefined for everything else. Such an image may reset the machine
 * by itself: run before the report, it would be run again at every start.
 */
export function secondsAfterReport(wanted: Wanted): number | undefined {
  const inside = takeOffWaitdaemon(wanted);
  if (inside === wanted || actionForImage(inside.image)) return undefined;
  const seconds = Number(wanted.variables['WAIT_SECONDS']) || 0;
  return Math.min(Math.max(seconds, 0), MOST_SECONDS);
}
