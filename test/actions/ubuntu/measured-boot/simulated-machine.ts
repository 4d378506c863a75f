import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readOwnText } from '../../../../system/own-file.ts';
import { waitFor } from '../../../../system/wait.ts';

const SCRIPTS = ['seal', 'tpm-policy', 'unlock'] as const;
/** What the scripts name, and what a machine has of its own here. */
const PLACES = ['/run/', '/etc/', '/boot/', '/sys/', '/dev/disk/', '/usr/local/', '/lib/cryptsetup/'];
const STUB = 'boot/efi/EFI/debian/grub.cfg';
/** What the grub.cfg inside Debian's signed GRUB does before it comes to the one on the disk (seen with OVMF and swtpm). */
const FOLDER = '(hd1,gpt15)/EFI/debian';
const BUILT_IN = [
  `[ -z ${FOLDER} -o ! -e ${FOLDER} ]`,
  `[ -e ${FOLDER}/x86_64-efi/grub.cfg ]`,
  `[ -e ${FOLDER}/grub.cfg ]`,
  `source ${FOLDER}/grub.cfg`,
];
const FIRST_STUB =
  "search.fs_uuid 1111 root\nset prefix=($root)'/grub'\nconfigfile $prefix/grub.cfg\n" as const;

/** A TPM that is switched off after the use of another kind of key locks itself in the end. */
const NO_LOCKOUT = 'restricted|decrypt|fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** The least that is an EFI program (PE32+): headers, then the given text. */
export function efiProgram(text: string, checksum = 0): Buffer {
  const program = Buffer.alloc(512);
  program.write('MZ');
  program.writeUInt32LE(64, 60);
  program.write('PE', 64);
  program.writeUInt16LE(0x20b, 88);
  program.writeUInt32LE(checksum, 88 + 64);
  return Buffer.concat([program, Buffer.from(text)]);
}

/** As firmware hashes it: without checksum and the place of the signatures (88 is where the optional header begins). */
function programHash(program: Buffer): Buffer {
  const [sum, directory] = [88 + 64, 88 + 144];
  const parts = [
    program.subarray(0, sum),
    program.subarray(sum + 4, directory),
    program.subarray(directory + 8),
  ];
  return sha256(Buffer.concat(parts));
}

interface Event {
  pcr: number;
  digest: Buffer;
  data: string;
}

/** The firmware's event log (TCG PC Client Platform Firmware Profile, 10.2), with SHA-1 and SHA-256. */
function eventLog(events: readonly Event[]): Buffer {
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const first = Buffer.concat([u32(0), u32(3), Buffer.alloc(20), u32(5), Buffer.from('Spec\0')]);
  const rest = events.map(({ pcr, digest, data }) =>
    Buffer.concat([
      ...[u32(pcr), u32(13), u32(2)],
      ...[Buffer.from('0400', 'hex'), Buffer.alloc(20), Buffer.from('0b00', 'hex'), digest],
      ...[u32(Buffer.byteLength(data) + 1), Buffer.from(`${data}\0`)],
    ]),
  );
  return Buffer.concat([first, ...rest]);
}

/**
 * A machine without a processor: a real TPM (swtpm), a real LUKS2 header, the scripts of the installed system, and a firmware and a GRUB that
 * only measure, as the real ones do.
 */
export class SimulatedMachine implements AsyncDisposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'kindling-measured-'));
  readonly diskKey = randomBytes(32).toString('hex');
  readonly volume = this.at('dev/disk/by-uuid/2222');
  secureBoot = 'on, with the keys of the site';
  /** The kernel has the firmware's log only if it was started as an EFI program. */
  hasLog = true;
  #tpm: ReturnType<typeof spawn> | undefined;
  #log: string[] = [];

  static async make(): Promise<SimulatedMachine> {
    const machine = new SimulatedMachine();
    for (const folder of ['bin', 'tpm', 'run', 'etc/kindling', 'boot/grub', 'boot/efi/EFI/debian']) {
      mkdirSync(machine.at(folder), { recursive: true });
    }
    for (const folder of [
      'sys/kernel/security/tpm0',
      'sys/class/block/disk15',
      'dev/disk/by-uuid',
      'usr/local/lib/kindling',
      'lib/cryptsetup',
    ])
      mkdirSync(machine.at(folder), { recursive: true });
    machine.#placeScripts();
    machine.write('etc/crypttab', '# Made by Kindling\nrootfs_crypt UUID=2222 none luks,initramfs\n');
    machine.write('etc/kindling/disk.key', machine.diskKey);
    machine.write('usr/local/lib/kindling/first-pcrs', '15\n');
    machine.write('boot/efi/EFI/debian/grubx64.efi', efiProgram('GRUB'));
    machine.write(STUB, FIRST_STUB);
    machine.installKernel('6.1.0-1', { initramfs: 'initramfs 1' });
    writeFileSync(machine.volume, '');
    execFileSync('truncate', ['-s', '20M', machine.volume]);
    execFileSync(
      'cryptsetup',
      [
        ...['luksFormat', '--batch-mode', '--type', 'luks2', '--pbkdf', 'pbkdf2'],
        ...[
          '--pbkdf-force-iterations',
          '1000',
          '--key-file',
          machine.at('etc/kindling/disk.key'),
          machine.volume,
        ],
      ],
      { stdio: 'pipe' },
    );
    machine.seal('menu');
    await machine.#startTpm();
    machine.#sealAsTheInstaller();
    return machine;
  }

  at(file: string): string {
    return path.join(this.folder, file);
  }

  write(file: string, contents: string | Buffer): void {
    writeFileSync(this.at(file), contents);
  }

  /** What a package of a kernel does, and update-grub after it. */
  installKernel(
    version: string,
    { initramfs, args = 'ro quiet' }: { initramfs: string; args?: string },
  ): void {
    this.write(`boot/vmlinuz-${version}`, efiProgram(`kernel ${version}`));
    this.write(`boot/initrd.img-${version}`, initramfs);
    this.write(
      'boot/grub/grub.cfg',
      `menuentry 'Debian' {\n\tlinux\t/vmlinuz-${version} root=/dev/mapper/rootfs_crypt ${args} $vt_handoff\n\tinitrd\t/initrd.img-${version}\n}\n`,
    );
  }

  /** Off and on again, up to the question for the key. `edit` is what somebody changes in GRUB's lines before they run. */
  async boot({ edit = (text: string) => text } = {}): Promise<{ key: string; said: string }> {
    await this.#startTpm();
    const events = this.#measure(edit(readFileSync(this.at(STUB), 'utf8')));
    this.#tpm2(['pcrextend', ...events.map(({ pcr, digest }) => `${pcr}:sha256=${digest.toString('hex')}`)]);
    this.write('sys/kernel/security/tpm0/binary_bios_measurements', this.hasLog ? eventLog(events) : '');
    rmSync(this.at('run'), { recursive: true });
    mkdirSync(this.at('run'));
    return this.unlock();
  }

  /** As the initramfs, whose shell is busybox, asks for the key of a volume. */
  unlock(): { key: string; said: string } {
    const { stdout, stderr } = spawnSync('busybox', ['sh', this.at('usr/local/lib/kindling/unlock')], {
      env: {
        ...this.#environment(),
        CRYPTTAB_NAME: 'rootfs_crypt',
        CRYPTTAB_SOURCE: this.volume,
        CRYPTTAB_TRIED: '0',
      },
      encoding: 'utf8',
    });
    return { key: stdout, said: stderr };
  }

  /** A whole boot of a system that opens: PCR 15 is filled, and the service runs. */
  async start(): Promise<string> {
    const { key, said } = await this.boot();
    if (key === '') throw new Error(said);
    this.#tpm2(['pcrextend', `15:sha256=${'ff'.repeat(32)}`]);
    return this.seal('booted');
  }

  /** What the next person in front of the console types. */
  willType(recoveryKey: string): void {
    writeFileSync(this.at('lib/cryptsetup/askpass'), `#!/bin/sh\nprintf %s '${recoveryKey}'\n`, {
      mode: 0o755,
    });
  }

  seal(command: 'menu' | 'booted' | 'next'): string {
    // In a service of systemd a broken pipe ends no program: the program complains.
    const asService = `trap '' PIPE; exec sh "$0" "$1"`;
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', asService, this.at('usr/local/lib/kindling/seal'), command],
      {
        env: this.#environment(),
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(stderr);
    return stderr;
  }

  /** Every byte that went to the TPM and came from it meanwhile. */
  async listen(during: () => Promise<void>): Promise<Buffer> {
    const trace = this.at('tpm/trace');
    this.#log = ['--log', `file=${trace},level=20,truncate`];
    await during();
    await this.#endTpm();
    this.#log = [];
    // lines such as " 80 01 00 00" after one that says what they are
    const lines = readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => /^\s*(?:[\dA-F]{2}\s+)+$/.test(line));
    return Buffer.from(lines.join('').replaceAll(/\s/g, ''), 'hex');
  }

  /** The files of the disk: header, /boot and the EFI system partition. */
  copyDiskTo(folder: string): void {
    for (const part of ['boot', 'dev']) cpSync(this.at(part), path.join(folder, part), { recursive: true });
  }

  copyDiskFrom(folder: string): void {
    for (const part of ['boot', 'dev']) {
      rmSync(this.at(part), { recursive: true });
      cpSync(path.join(folder, part), this.at(part), { recursive: true });
    }
  }

  /** Whether any program on the machine is given the installer's key. */
  givesFirstKey(): boolean {
    return (
      spawnSync('tpm2', ['unseal', '-c', '0x81000000', '-p', 'pcr:sha256:15'], { env: this.#environment() })
        .status === 0
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endTpm();
    rmSync(this.folder, { recursive: true });
  }

  #measure(stub: string): Event[] {
    const text = (pcr: number, value: string, prefix = ''): Event => ({
      pcr,
      digest: sha256(value),
      data: prefix + value,
    });
    const file = (name: string, contents: string | Buffer): Event => ({
      pcr: 9,
      digest: sha256(contents),
      data: name,
    });
    const program = (place: string): Event => ({
      pcr: 4,
      digest: programHash(readFileSync(this.at(place))),
      data: 'program',
    });
    const events = [
      text(7, this.secureBoot),
      text(4, 'Calling EFI Application from Boot Option'),
      program('boot/efi/EFI/debian/grubx64.efi'),
      ...BUILT_IN.map((command) => text(8, command, 'grub_cmd: ')),
      file('(hd1,gpt15)/EFI/debian/grub.cfg', stub),
    ];
    for (const line of stub.split('\n')) {
      const command = line.replace(/^if (.*); then$/, '$1');
      if (!/^(?:search|sleep|linux|initrd|boot)/.test(command)) continue;
      events.push(text(8, command, 'grub_cmd: '));
      const [name, place = ''] = command.split(' ');
      if (name === 'linux') {
        events.push(file(place, readFileSync(this.at(`boot${place}`))));
        if (this.hasLog) events.push(program(`boot${place}`));
        events.push(text(8, command.slice('linux '.length), 'kernel_cmdline: '));
      }
      if (name === 'initrd') events.push(file(place, readFileSync(this.at(`boot${place}`))));
      if (name === 'boot') break;
    }
    return events;
  }

  #placeScripts(): void {
    for (const name of SCRIPTS) {
      const text = PLACES.reduce(
        (all, place) => all.replaceAll(place, `${this.folder}${place}`),
        readOwnText(`actions/ubuntu/measured-boot/${name}.sh`),
      );
      const file = name === 'tpm-policy' ? 'tpm-policy.sh' : name;
      this.write(`usr/local/lib/kindling/${file}`, text.replace('device:/dev/tpmrm0', this.#tcti()));
    }
    writeFileSync(this.at('lib/cryptsetup/askpass'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    // The kernel's resource manager forgets a program's objects when it ends; here this does.
    const tool =
      '#!/bin/sh\n/usr/bin/tpm2 "$@"\nresult=$?\n/usr/bin/tpm2 flushcontext -t >/dev/null 2>&1 </dev/null\nexit $result\n';
    writeFileSync(this.at('bin/tpm2'), tool, { mode: 0o755 });
    const first = '#!/bin/sh\nexec tpm2 unseal -Q -c 0x81000000 -p pcr:sha256:15\n';
    writeFileSync(this.at('bin/tpm2-initramfs-tool'), first, { mode: 0o755 });
    this.write('sys/class/block/disk15/partition', '15\n');
    writeFileSync(this.at('bin/findmnt'), '#!/bin/sh\necho /dev/disk15\n', { mode: 0o755 });
    writeFileSync(this.at('bin/uname'), '#!/bin/sh\necho 6.1.0-1\n', { mode: 0o755 });
  }

  #sealAsTheInstaller(): void {
    const at = (name: string) => this.at(`tpm/${name}`);
    this.#tpm2(['createprimary', '-Q', '-C', 'o', '-a', NO_LOCKOUT, '-c', at('p')]);
    this.#tpm2(['startauthsession', '-Q', '-S', at('s')]);
    this.#tpm2(['policypcr', '-Q', '-S', at('s'), '-l', 'sha256:15', '-L', at('policy')]);
    this.#tpm2(['flushcontext', '-Q', at('s')]);
    this.#tpm2([
      ...['create', '-Q', '-C', at('p'), '-i', this.at('etc/kindling/disk.key'), '-L', at('policy')],
      ...['-a', 'fixedtpm|fixedparent|noda', '-u', at('u'), '-r', at('r')],
    ]);
    this.#tpm2(['load', '-Q', '-C', at('p'), '-u', at('u'), '-r', at('r'), '-c', at('k')]);
    this.#tpm2(['evictcontrol', '-Q', '-C', 'o', '-c', at('k'), '0x81000000']);
  }

  #tcti(): string {
    return `swtpm:path=${this.at('tpm/socket')}`;
  }

  #environment() {
    return {
      PATH: `${this.at('bin')}:${process.env['PATH']}`,
      TPM2TOOLS_TCTI: this.#tcti(),
      TSS2_LOG: 'all+NONE',
    };
  }

  #tpm2(args: readonly string[]): void {
    execFileSync(this.at('bin/tpm2'), args, { env: this.#environment(), stdio: 'pipe' });
  }

  async #startTpm(): Promise<void> {
    await this.#endTpm();
    const socket = this.at('tpm/socket');
    const state = this.at('tpm/state');
    mkdirSync(state, { recursive: true });
    this.#tpm = spawn(
      'swtpm',
      [
        ...['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--server', `type=unixio,path=${socket}`],
        ...['--ctrl', `type=unixio,path=${socket}.ctrl`, '--flags', 'not-need-init,startup-clear'],
        ...this.#log,
      ],
      { stdio: 'ignore' },
    );
    await waitFor(() => (existsSync(socket) && existsSync(`${socket}.ctrl`) ? true : undefined), {
      name: 'the socket of the TPM',
      timeoutMs: 30_000,
      intervalMs: 20,
    });
  }

  async #endTpm(): Promise<void> {
    const tpm = this.#tpm;
    if (!tpm) return;
    this.#tpm = undefined;
    tpm.kill();
    await once(tpm, 'exit');
    for (const end of ['', '.ctrl']) rmSync(this.at(`tpm/socket${end}`), { force: true });
  }
}
