import { type Command, InvalidArgumentError, Option } from 'commander';
import { describeError, KindlingError } from '../protocol/error.ts';
import { untilEndSignal } from '../system/end-signal.ts';
import { keepRunning } from '../system/keep-running.ts';
import { notifyReady } from '../system/service-manager.ts';
import { addConfigOption } from './config-file.ts';
import { printable } from './table.ts';

interface PxeFlags {
  interface?: string;
  mode: 'reservation' | 'proxy' | 'auto-proxy' | 'off';
  reservations?: string;
  tftpRoot?: string;
  script?: string;
  binaryBase?: string;
  singlePort: boolean;
  tftpPorts?: { from: number; to: number };
  foreignIpxeRunsScript: boolean;
}

interface DoctorFlags {
  mac?: string;
  output: string;
  seconds: number;
  reservations?: string;
}

/** `kindling pxe` and `kindling pxe doctor`. */
export function definePxe(pxe: Command): void {
  // Not commander's required options: those would be asked of `pxe doctor` too.
  addConfigOption(pxe)
    .option('--interface <device>', 'network device to serve on (needed)')
    .option('--tftp-root <folder>', 'folder with the iPXE binaries (needed)')
    .option('--script <url>', 'script iPXE is to run; {mac} is replaced (needed)')
    .addOption(
      new Option('--mode <mode>', 'who gives addresses')
        .choices(['reservation', 'proxy', 'auto-proxy', 'off'])
        .default('auto-proxy'),
    )
    .option('--reservations <file>', 'YAML list of known machines (mac, address, subnetMask, …)')
    .option('--binary-base <url>', 'folder of the iPXE binaries over HTTP, for UEFI HTTP boot')
    .option('--single-port', 'answer TFTP from port 69 alone', false)
    .option('--tftp-ports <from-to>', 'answer TFTP from these ports', parsePorts)
    .option('--foreign-ipxe-runs-script', 'let an iPXE that is not ours run the script itself', false)
    .action(runPxe);
  pxe
    .command('doctor')
    .description('send a DISCOVER as firmware would, and explain every offer')
    .argument('<device>', 'network device to ask on')
    .option('--mac <address>', 'ask as the machine with this address (default: the device’s own)', parseMac)
    .option(
      '--reservations <file>',
      'compare with this list; asks as its first machine unless --mac is given',
    )
    .option('--output <format>', 'table or json', 'table')
    .option('--seconds <number>', 'how long to listen for offers, for each kind of client', Number, 4)
    .action(runDoctor);
}

async function runPxe(flags: PxeFlags): Promise<void> {
  const { servePxe } = await import('../netboot/serve-pxe.ts');
  const { NetbootLog } = await import('../netboot/netboot-log.ts');
  const { TftpFolder } = await import('../netboot/tftp/tftp-folder.ts');
  const { indexReservations, readReservationsFile } = await import('../netboot/dhcp/reservations-file.ts');
  const device = needed(flags.interface, '--interface');
  const tftpRoot = needed(flags.tftpRoot, '--tftp-root');
  const script = needed(flags.script, '--script');
  if (flags.mode === 'reservation' && !flags.reservations) {
    throw new KindlingError('KND_USAGE', '--mode reservation needs --reservations');
  }
  using _running = keepRunning((thrown) => console.error(printable(describeError(thrown))));
  const log = new NetbootLog((line) => console.log(printable(line)));
  await using pxe = await servePxe({
    device,
    mode: flags.mode,
    reservations: flags.reservations ? readReservationsFile(flags.reservations) : indexReservations([]),
    tftpFiles: new TftpFolder(tftpRoot),
    script,
    binaryBase: flags.binaryBase ?? new URL('.', script).href,
    urls: { foreignIpxeRunsScript: flags.foreignIpxeRunsScript },
    tftp: { singlePort: flags.singlePort, ...(flags.tftpPorts ? { portRange: flags.tftpPorts } : {}) },
    say: (text) => log.say(text),
    onDhcp: (event) => log.dhcp(event),
    onTftp: (event) => log.tftp(event),
    onFailure: (message) => console.error(printable(message)),
  });
  console.log(`serving ${flags.mode} DHCP and TFTP on ${device} (${pxe.address})`);
  const ended = untilEndSignal();
  notifyReady();
  await ended;
}

async function runDoctor(device: string, { mac, output, seconds, reservations }: DoctorFlags): Promise<void> {
  if (!(seconds > 0)) throw new KindlingError('KND_USAGE', '--seconds must be a number above 0');
  const { describeFindings, examineNetwork } = await import('../netboot/doctor/doctor.ts');
  const findings = await examineNetwork(device, {
    listenMs: seconds * 1000,
    mac,
    reservationsPath: reservations,
  });
  process.stdout.write(
    output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : describeFindings(findings),
  );
  process.exitCode = findings.some(({ problems }) => problems.length > 0) ? 1 : 0;
}

function needed(value: string | undefined, flag: string): string {
  if (value === undefined) throw new KindlingError('KND_USAGE', `kindling pxe needs ${flag}`);
  return value;
}

function parseMac(text: string): string {
  if (!/^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text)) {
    throw new InvalidArgumentError('a MAC address looks like 52:54:00:12:34:56');
  }
  return text.toLowerCase().replaceAll('-', ':');
}

function parsePorts(text: string): { from: number; to: number } {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const range = { from: Number(from), to: Number(to) };
  if (!(range.from >= 1 && range.from <= range.to && range.to <= 65535)) {
    throw new InvalidArgumentError('expected two ports, as in 40000-40049');
  }
  return range;
}
