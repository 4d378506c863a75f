import { describe, expect, it } from 'vitest';
import { NetbootLog } from '../../netboot/netboot-log.ts';

const MAC = '52:54:00:00:00:07';

describe('the lines of a server for network boot', () => {
  it('have a time, for machines that are answered and for those that are not', () => {
    const lines: string[] = [];
    const log = new NetbootLog(
      (line) => lines.push(line),
      () => new Date(2026, 10, 17, 14, 3, 9),
    );
    log.dhcp({ mac: MAC, port: 67, answered: true, reason: 'ipxe.efi for UEFI x64' });
    log.dhcp({ mac: MAC, port: 67, answered: false, reason: `no reservation for ${MAC}` });
    expect(lines).toEqual([
      `14:03:09 dhcp ${MAC}: ipxe.efi for UEFI x64`,
      `14:03:09 dhcp ${MAC}: not answered: no reservation for ${MAC}`,
    ]);
  });

  it('say once a minute that the same machine is not answered for the same reason', () => {
    const lines: string[] = [];
    let at = 0;
    const log = new NetbootLog(
      (line) => lines.push(line),
      () => new Date(at),
    );
    for (at of [0, 4000, 8000, 59_000, 61_000]) {
      log.dhcp({ mac: MAC, port: 67, answered: false, reason: 'no reservation' });
    }
    expect(lines).toHaveLength(2);
  });
});
