import { defineAction } from './action.ts';

/** Ends the Micro-OS: the action itself only asks for it, so that its success is reported and acknowledged first. */
export const reboot = defineAction({
  name: 'reboot',
  aliases: ['reboot-action', 'waitdaemon'],
  summary: 'Restarts the machine once the server knows that every action succeeded',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    WAIT_SECONDS: {
      type: 'integer',
      default: 0,
      max: 3600,
      description: 'Accepted for the waitdaemon pattern; not needed, since the report is acknowledged first',
    },
    IMAGE: {
      type: 'text',
      description:
        'The image that waitdaemon would have started (a reboot or kexec image); kexec is recognised in its name',
    },
  },
  notes: [
    'Replaces `public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action` and the `waitdaemon` wrapper: no image is pulled, and there is no race between the report and the reset.',
  ],
  async run({ IMAGE }) {
    const kind = IMAGE?.includes('kexec') ? 'kexec' : 'reboot';
    return { summary: `the machine will ${kind} when the server has acknowledged`, handOver: { kind } };
  },
});
