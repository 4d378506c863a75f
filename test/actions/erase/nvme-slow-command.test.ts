import { expect, it } from 'vitest';
import { sendSlowCommand } from '../../../actions/erase/nvme-slow-command.ts';

it('what a drive refuses in its own thread is an error here, with its code', async () => {
  await expect(sendSlowCommand('/dev/null', { opcode: 0x80, nsid: 1, cdw10: 0 })).rejects.toMatchObject({
    code: 'KND_DISK_IO',
    message: expect.stringContaining('/dev/null refused NVMe command 0x80'),
  });
});
