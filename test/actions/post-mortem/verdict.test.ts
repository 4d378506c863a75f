import { describe, expect, it } from 'vitest';
import { findReason } from '../../../actions/post-mortem/verdict.ts';

describe('why an installed system did not report', () => {
  it('names the kernel’s panic before anything else', () => {
    const crash =
      '<4>[ 12.1] sysrq: Trigger a crash\n<0>[ 12.2] Kernel panic - not syncing: sysrq triggered crash ]---\n<4>[ 12.3] CPU: 0';
    expect(findReason({ crash, cloudInitLog: '[ERROR]: something else' })).toBe(
      'its kernel died: Kernel panic - not syncing: sysrq triggered crash',
    );
  });

  it.each([
    [
      { rootProblem: 'KND_MOUNT_FAILED: /dev/nvme0n1p1 could not be mounted' },
      'its root cannot be read: KND_MOUNT_FAILED: /dev/nvme0n1p1 could not be mounted',
    ],
    [
      {},
      'cloud-init never ran: the machine did not start its disk, or loader, kernel or root file system stopped it',
    ],
    [
      {
        cloudInitLog: 'x - handlers.py[DEBUG]: start: init-network/config-growpart: running config-growpart',
      },
      'it stopped inside cloud-init, in init-network/config-growpart',
    ],
    [
      { cloudInitLog: 'a - util.py[ERROR]: first\nb - util.py[CRITICAL]: no network at all' },
      'cloud-init failed: no network at all',
    ],
    [
      { cloudInitLog: 'x', firstBootLog: 'node first-boot.sh[123]: curl: (6) Could not resolve host' },
      'it ran, but its report did not get through: curl: (6) Could not resolve host',
    ],
    [
      { cloudInitLog: 'x', firstBootLog: 'systemd[1]: Started.' },
      'it ran, but did not report in time; its journal is in this log',
    ],
  ])('%j', (evidence, reason) => {
    expect(findReason({ crash: '', ...evidence })).toBe(reason);
  });
});
