import { actionForImage, lastPathComponent } from './catalog.ts';

/** What a workflow wants run: the image, its variables, its command. */
export interface Wanted {
  image: string;
  variables: Record<string, string>;
  args: readonly string[];
}

/**
 * Tinkerbell's waitdaemon reports success and only then runs the image it is told, because a reboot would outrun the report. Ours hand over after
 * the report by themselves, so the wrapper is taken off. The community's reboot is «IMAGE: alpine, command: [reboot]», where the image is only there
 * for its command: that is our reboot, with nothing to pull and no init process that would have to understand the signal.
 */
export function takeOffWaitdaemon(wanted: Wanted): Wanted {
  const { IMAGE, WAIT_SECONDS: _, ...variables } = wanted.variables;
  if (lastPathComponent(wanted.image) !== 'waitdaemon' || !IMAGE) return wanted;
  const [program = ''] = wanted.args;
  const isReboot = !actionForImage(IMAGE) && lastPathComponent(program) === 'reboot';
  return isReboot
    ? { image: 'reboot', variables: {}, args: [] }
    : { image: IMAGE, variables, args: wanted.args };
}
