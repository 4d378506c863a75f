import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AtaDrive } from '../../../lab/drives/ata-drive.ts';
import { IscsiTarget } from '../../../lab/drives/iscsi-target.ts';
import { NvmeDrive } from '../../../lab/drives/nvme-drive.ts';
import { NvmeTcpTarget } from '../../../lab/drives/nvme-tcp-target.ts';
import { packModules } from '../../../lab/qemu/extra-modules.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import { isGenuine } from '../../../protocol/check-certificate.ts';
import type { SignedCertificate } from '../../../protocol/erasure-certificate.ts';
import { MicroOsShell } from '../micro-os-shell.ts';

const MIB = 1 << 20;
const SECRET = 'TOP SECRET';
const SANITIZE = 0x84;
const FORMAT = 0x80;
const WAIT = { timeout: 120_000, interval: 50 };

/** Drives of our own behind the kernel's own drivers: QEMU's know neither sanitize nor ATA security. */
function makeDrives() {
  const nvme = {
    twoPorts: new NvmeDrive({ serial: 'TWOPORTS', sizeBytes: MIB, hasTwoPorts: true }),
    crypto: new NvmeDrive({ serial: 'CRYPTO', sizeBytes: MIB }),
    overwrite: new NvmeDrive({ serial: 'OVERWRITE', sizeBytes: MIB }),
    unable: new NvmeDrive({ serial: 'UNABLE', sizeBytes: MIB }),
    failing: new NvmeDrive({ serial: 'FAILING', sizeBytes: MIB }),
    lying: new NvmeDrive({ serial: 'LYING', sizeBytes: MIB }),
  };
  nvme.crypto.sanitizes = new Set(['crypto']);
  nvme.overwrite.sanitizes = new Set(['overwrite']);
  nvme.unable.sanitizes = new Set();
  nvme.failing.sanitizeEnds = 'failed';
  nvme.lying.sanitizeEnds = 'lying';
  const ata = {
    enhanced: new AtaDrive({ serial: 'ATA-ENHANCED', sizeBytes: MIB, hasEnhancedErase: true }),
    plain: new AtaDrive({ serial: 'ATA-PLAIN', sizeBytes: MIB }),
    frozen: new AtaDrive({ serial: 'ATA-FROZEN', sizeBytes: MIB }),
    locked: new AtaDrive({ serial: 'ATA-LOCKED', sizeBytes: MIB, password: 'somebody else’s' }),
    failing: new AtaDrive({ serial: 'ATA-FAILING', sizeBytes: MIB }),
    lying: new AtaDrive({ serial: 'ATA-LYING', sizeBytes: MIB }),
  };
  ata.frozen.isFrozen = true;
  ata.failing.eraseEnds = 'failed';
  ata.lying.eraseEnds = 'lying';
  for (const { memory } of [...Object.values(nvme), ...Object.values(ata)])
    memory.write(MIB / 2, Buffer.from(SECRET));
  return { nvme, ata };
}

let nvme: ReturnType<typeof makeDrives>['nvme'];
let ata: ReturnType<typeof makeDrives>['ata'];
let nvmeTarget: NvmeTcpTarget;
let ataTarget: IscsiTarget;
let machine: Machine;
let shell: MicroOsShell;

async function start(): Promise<void> {
  ({ nvme, ata } = makeDrives());
  nvmeTarget = await NvmeTcpTarget.start(Object.values(nvme));
  ataTarget = await IscsiTarget.start(Object.values(ata));
  await using modules = await packModules(['drivers/nvme/host/nvme-fabrics', 'drivers/nvme/host/nvme-tcp']);
  const kernel = await microOsKernel({ cmdline: 'kindling.debug' });
  machine = await bootMachine({
    name: 'drives that erase themselves',
    memoryMb: 640,
    disks: [{ bus: 'virtio', size: '8M', serial: 'LOCAL' }],
    nics: [{ model: 'virtio' }],
    qemuArgs: ataTarget.qemuArgs,
    kernel: { ...kernel, initrd: [kernel.initrd ?? '', modules.file].flat() },
  });
  shell = new MicroOsShell(machine);
  await shell.ready();
  await done('modprobe nvme; insmod /lib/extra/nvme-fabrics.ko && insmod /lib/extra/nvme-tcp.ko');
  for (const drive of Object.values(nvme)) await connect(drive);
}

async function stop(): Promise<void> {
  await machine?.[Symbol.asyncDispose]();
  await nvmeTarget?.[Symbol.asyncDispose]();
  await ataTarget?.[Symbol.asyncDispose]();
}

beforeAll(start);
afterAll(stop);

async function done(command: string): Promise<string> {
  const answer = await shell.run(command, 240_000);
  expect({ command, ...answer }).toMatchObject({ command, exitCode: 0 });
  return answer.output;
}

async function connect({ nqn, serial }: NvmeDrive): Promise<void> {
  await done(
    `printf transport=tcp,traddr=10.0.2.2,trsvcid=${nvmeTarget.port},nqn=${nqn},hostnqn=nqn.2026-01.example.kindling:node,reconnect_delay=1,keep_alive_tmo=300 > /dev/nvme-fabrics && until grep -q ${serial} /sys/block/nvme*n1/device/serial; do sleep 0.1; done`,
  );
}

const eraseLine = (method: string, only: string, more = '') =>
  `KINDLING_EVENTS_FD=1 kindling-agent action erase_non_removable_disks --set ERASE_METHOD=${method} --set 'ERASE_ONLY=${only}' --set ERASE_SAMPLES=8 ${more}`;

/** What the action tells the agent, which starts it with this pipe. */
function readEvents(output: string) {
  const events = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as ActionEvent);
  const certificates = events.flatMap((event) => {
    const signed = event.type === 'log' ? event.fields?.['certificate'] : undefined;
    return signed ? [signed as SignedCertificate] : [];
  });
  return {
    certificateOf: (serial: string) =>
      certificates.find(({ certificate }) => certificate.disk.serial === serial),
    error: events.find((event) => event.type === 'error'),
    text: events.map((event) => JSON.stringify(event)).join('\n'),
  };
}

async function erase(method: string, only: string) {
  const { output, exitCode } = await shell.run(eraseLine(method, only), 240_000);
  return { ...readEvents(output), exitCode };
}

describe('NVMe drives that sanitize themselves', () => {
  it('a network disk is left alone unless it is asked for, and a path to one is no disk', async () => {
    const { output } = await shell.run('kindling-agent action erase_non_removable_disks --dry-run');
    expect(output.match(/leaves alone \/dev\/nvme\S+: it is a network disk \(tcp\)/g)).toHaveLength(6);
    expect(output.match(/destroys everything on/g)).toHaveLength(1 + Object.keys(ata).length);
    expect(output).not.toMatch(/nvme\d+c\d+n\d+/);
  });

  it('each by what it can do, all in one run; what failed, lied or cannot is said', async () => {
    const { certificateOf, error } = await erase('nvme-sanitize', 'network');
    expect(nvme.twoPorts.erasures).toEqual([{ opcode: SANITIZE, cdw10: 2 }]);
    expect(nvme.crypto.erasures).toEqual([{ opcode: SANITIZE, cdw10: 4 }]);
    expect(nvme.overwrite.erasures).toEqual([{ opcode: SANITIZE, cdw10: 0x13 }]);
    for (const drive of [nvme.twoPorts, nvme.crypto, nvme.overwrite]) {
      const signed = certificateOf(drive.serial);
      expect(signed?.certificate).toMatchObject({ nistClass: 'purge', isProved: true, isBlank: true });
      expect(signed && isGenuine(signed)).toBe(true);
      expect(drive.memory.includes(SECRET)).toBe(false);
    }
    for (const text of [
      '3 of 6 disks were not erased',
      'does not support Sanitize',
      'says its sanitize failed',
      'ignores nvme-sanitize: test data written before the erase is still there',
    ])
      expect(error?.error.message).toContain(text);
    for (const { serial } of [nvme.unable, nvme.failing, nvme.lying])
      expect(certificateOf(serial)).toBeUndefined();
    expect(nvme.unable.memory.includes(SECRET)).toBe(true);
  });

  it('one whose sanitize failed takes no data, which is said; the others are formatted at the same time', async () => {
    nvme.failing.finishSanitize('failed');
    const formatted = [nvme.unable, nvme.lying];
    for (const drive of formatted) Object.assign(drive, { holdsFormat: true }).erasures.length = 0;
    const erasing = erase('nvme-format', 'network, serial=*L*');
    await vi.waitFor(
      () => expect(formatted.filter(({ isFormatting }) => isFormatting)).toHaveLength(2),
      WAIT,
    );
    for (const drive of formatted) drive.finishFormat();
    const { certificateOf, error, exitCode } = await erasing;
    expect(exitCode).toBe(4);
    expect(error).toMatchObject({
      error: expect.objectContaining({
        code: 'KND_ERASE_UNSUPPORTED',
        message: expect.stringContaining('its last sanitize failed, and it takes no data until one succeeds'),
      }),
    });
    for (const { serial, erasures, memory } of formatted) {
      expect(certificateOf(serial)?.certificate).toMatchObject({ method: 'nvme-format', nistClass: 'purge' });
      expect(erasures).toEqual([{ opcode: FORMAT, cdw10: 1 << 9 }]);
      expect(memory.isBlank).toBe(true);
    }
  });

  it('goes on in the drive when the link breaks, the action is killed and the power goes, and is waited for', async () => {
    const drive = nvme.twoPorts;
    drive.sanitizeEnds = 'held';
    drive.erasures.length = 0;
    nvme.failing.finishSanitize('failed');
    await done(
      `${eraseLine('nvme-sanitize', 'network, serial=TWOPORTS')} > /tmp/events & echo $! > /tmp/pid`,
    );
    await vi.waitFor(() => expect(drive.isSanitizing).toBe(true), WAIT);
    nvmeTarget.powerOff();
    await done(`until grep -q 'does not answer' /tmp/events; do sleep 0.2; done`);
    nvmeTarget.powerOn();
    drive.progress = 0.5;
    await done(`until grep -q '"percent":50' /tmp/events; do sleep 0.2; done; kill -9 $(cat /tmp/pid)`);

    nvmeTarget.powerOff();
    await done(
      'for d in /sys/class/nvme/nvme*; do grep -q TWOPORTS $d/serial && echo 1 > $d/delete_controller; done; ! grep TWOPORTS /sys/class/nvme/nvme*/serial',
    );
    nvmeTarget.powerOn();
    await connect(drive);
    nvme.failing.sanitizeEnds = 'well';
    await done(
      `${eraseLine('nvme-sanitize', 'network, serial!=LYING, serial!=CRYPTO, serial!=UNABLE, serial!=OVERWRITE')} > /tmp/events2 & until grep -q 'still busy' /tmp/events2; do sleep 0.2; done`,
    );
    expect(drive.isSanitizing).toBe(true);
    drive.sanitizeEnds = 'well';
    drive.finishSanitize();
    await shell.run('wait');
    const { certificateOf, error, text } = readEvents(await done('cat /tmp/events2'));
    expect(error).toBeUndefined();
    expect(certificateOf('TWOPORTS')?.certificate).toMatchObject({ nistClass: 'purge', isProved: true });
    expect(drive.erasures).toHaveLength(2);
    // The drive that had failed is brought back by a sanitize, and then erased with proof.
    expect(text).toMatch(/the last sanitize of \S+ failed/);
    expect(certificateOf('FAILING')?.certificate).toMatchObject({ nistClass: 'purge', isProved: true });
    expect(nvme.failing.memory.isBlank).toBe(true);
  });
});

describe('ATA disks that erase themselves', () => {
  it('each by what it can do, all in one run; what is frozen, locked, failing or lying is said', async () => {
    const { certificateOf, error } = await erase('ata-secure-erase', 'serial=ATA-*');
    expect(ata.enhanced.erasures).toEqual(['enhanced']);
    expect(ata.plain.erasures).toEqual(['normal']);
    for (const drive of [ata.enhanced, ata.plain]) {
      expect(certificateOf(drive.serial)?.certificate).toMatchObject({ nistClass: 'clear', isProved: true });
      expect(drive.memory.includes(SECRET)).toBe(false);
    }
    // In any order: the kernel names the disks of one bus as they answer.
    for (const text of [
      '4 of 6 disks were not erased',
      'the firmware froze its security state; suspend and resume, or hot-plug the disk',
      'locked with a password that Kindling does not know',
      'did not carry out its secure erase',
      'ignores ata-secure-erase: test data written before the erase is still there',
    ])
      expect(error?.error.message).toContain(text);
    // None is left with our password; the one with somebody else's keeps that.
    const withPassword = Object.values(ata).filter(({ hasPassword }) => hasPassword);
    expect(withPassword.map(({ serial }) => serial)).toEqual(['ATA-LOCKED']);
    expect(ata.locked.memory.includes(SECRET)).toBe(true);
    expect(ata.locked.attemptsLeft).toBe(4);
  });

  it('canceled in the middle, the disk comes to its end and has no password', async () => {
    ata.enhanced.eraseEnds = 'held';
    await done(`${eraseLine('ata-secure-erase', 'serial=ATA-ENHANCED')} > /tmp/events & echo $! > /tmp/pid`);
    await vi.waitFor(() => expect(ata.enhanced.isErasing).toBe(true), WAIT);
    await done('kill $(cat /tmp/pid)');
    ata.enhanced.finishErase();
    expect(await shell.run('wait $(cat /tmp/pid); cat /tmp/events')).toMatchObject({
      output: expect.stringContaining('KND_ACTION_CANCELLED'),
    });
    expect(ata.enhanced.hasPassword).toBe(false);
  });

  it('killed between the password and the erase, a disk is freed of it by whatever action comes next', async () => {
    await killedBeforeErase('ATA-PLAIN');
    expect(ata.plain.hasPassword).toBe(true);
    await shell.run('kindling-agent action erase_non_removable_disks --dry-run');
    expect(ata.plain.hasPassword).toBe(false);
  });

  it('locked by a power cut at that point, it is opened and erased by the next run', async () => {
    await killedBeforeErase('ATA-PLAIN');
    ata.plain.powerCycle();
    // A new start of the machine knows nothing of the run before.
    await done('rm -rf /run/kindling/actions');
    expect(ata.plain.isLocked).toBe(true);
    const { certificateOf, exitCode } = await erase('ata-secure-erase', 'serial=ATA-PLAIN');
    expect(exitCode).toBe(0);
    expect(certificateOf('ATA-PLAIN')?.certificate).toMatchObject({ nistClass: 'clear', isProved: true });
    expect(ata.plain.hasPassword).toBe(false);
  });

  const killedBeforeErase = (serial: string) =>
    shell.killedIn(
      'hdparm',
      'case "$*" in *security-erase*) ;; *) exec /sbin/hdparm "$@" ;; esac',
      'erase_non_removable_disks',
      { ERASE_METHOD: 'ata-secure-erase', ERASE_ONLY: `serial=${serial}` },
    );
});
