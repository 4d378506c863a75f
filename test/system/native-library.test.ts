import { afterEach, describe, expect, it } from 'vitest';
import { adminCommand } from '../../actions/erase/nvme-admin.ts';
import { openDeviceSocket } from '../../netboot/dhcp/device-socket.ts';
import { requireNativeLibrary } from '../../system/native-library.ts';

const GETPID = { getpid: { arguments: [], return: 'int32' } } as const;

afterEach(() => {
  delete process.env['KINDLING_NO_FFI'];
});

describe('C functions', () => {
  it('are called where this Node can', () => {
    expect(requireNativeLibrary(null, GETPID, 'tests').functions.getpid()).toBe(process.pid);
  });

  it.each([
    ['NVMe commands', async () => adminCommand('/dev/null', { opcode: 6, nsid: 0, cdw10: 0 })],
    ['sockets bound to a network device', () => openDeviceSocket('lo', 0)],
  ])('KINDLING_NO_FFI holds for %s, which say so', async (what, act) => {
    process.env['KINDLING_NO_FFI'] = '1';
    await expect(act()).rejects.toMatchObject({
      code: 'KND_TOOL_MISSING',
      message: `${what} need a Node with node:ffi`,
      hint: expect.stringContaining('KINDLING_NO_FFI'),
    });
  });
});
