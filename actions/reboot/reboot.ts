import { defineAction } from '../contract/action.ts';

/** Ends the Micro-OS: the action itself only asks for it, so that its success is reported and acknowledged first. */
export const reboot = defineAction({
  name: 'reboot',
  aliases: ['reboot-action'],
  summary: 'Restarts the machine, or switches it off, once the server knows that every action succeeded',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    AFTER: {
      type: 'choice',
      choices: ['reboot', 'poweroff'],
      default: 'reboot',
      description: 'Whether the machine starts its disk at once, or is switched off to be shipped',
    },
  },
  notes: [
    'Replaces `public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action`: no image is pulled, and there is no race between the report and the reset. The `waitdaemon` wrapper is not needed and is taken off: the action is the one its `IMAGE` names, and an image of others whose command is `reboot` (`IMAGE: alpine`, `command: [reboot]`) is this action. Any other image behind `waitdaemon` is run as there: once the server has acknowledged the success, after `WAIT_SECONDS`, and once only.',
  ],
  async run({ AFTER }) {
    const what = AFTER === 'poweroff' ? 'switch off' : 'reboot';
    return {
      summary: `the machine will ${what} when the server has acknowledged`,
      handOver: { kind: AFTER },
    };
  },
});
