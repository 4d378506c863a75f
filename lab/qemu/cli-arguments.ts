import { parseArgs } from 'node:util';
import { KindlingError } from '../../protocol/error.ts';
import { defaultStateFolder } from '../../site/state-folder.ts';
import { parseSize } from './disk-file.ts';
import {
  DISK_BUSES,
  type DiskSpec,
  type Firmware,
  type MachineSpec,
  NIC_MODELS,
  type NicSpec,
} from './machine-spec.ts';

export interface QemuCommand {
  machine: MachineSpec;
  profile: 'minimal' | 'full';
  /** Without one the person gets the console. */
  action: string | undefined;
  /** The state folder of an orchestrator on this computer whose node the machine is. */
  orchestratorState: string | undefined;
  /** The machine starts from a stick, not into the Micro-OS of the lab. */
  hasStick: boolean;
  /** Ends with success when the console says this. */
  until: string | undefined;
  /** Shows the kernel's messages too. */
  isVerbose: boolean;
  variables: Record<string, string>;
  /** Added to the kernel command line. */
  append: string;
  keepDisks: boolean;
  timeoutMs: number;
}

export const USAGE = `npm run qemu -- [options]   boots the Micro-OS in a virtual machine

  --action NAME          run this action, show its result and exit with its code; without it you get a console.
                         The result is JSON on standard output: npm run -s qemu -- … | jq (-s leaves npm's banner out)
  --orchestrator         be a node of the orchestrator on this computer (kindling serve --name 10.0.2.2):
                         trusts its CA, and after the first restart boots its disk
  --state FOLDER         with --orchestrator: the orchestrator's state folder
  --stick FILE           start from this image of an installer stick; its disk comes next
  --until TEXT           end with success when the console says this
  --verbose              with --action: the kernel's messages too
  --set NAME=VALUE       a variable of the action (repeatable); from the guest this host is 10.0.2.2
  --disk BUS:SIZE[,…]    an empty disk: nvme:4G,serial=A1 · virtio, nvme, sata, scsi, usb (repeatable)
                         more: wwn=0x5000…, sector=4096, file=image.raw (used as it is, without SIZE)
  --nic MODEL[,…]        virtio, e1000, e1000e, rtl8139; more: mac=…, link=down, network=silent (repeatable)
  --memory MB            512 unless given; 1024 with --orchestrator and --stick
  --cpus N               1 unless given
  --firmware NAME        seabios (default), ovmf (default with --orchestrator), ovmf-secure-boot
  --profile NAME         Micro-OS minimal (default) or full
  --smbios KEY=VALUE,…   uuid, serial, manufacturer, product
  --tpm                  a TPM 2.0
  --clock TIME           what the hardware clock shows: 2001-09-09T01:46:40
  --append TEXT          added to the kernel command line
  --timeout SECONDS      for --action and --until; 600 unless given
  --keep                 keep the disks and say where they are
`;

/** Turns the arguments of \`npm run qemu\` into a machine and what to do with it. */
export function parseQemuArguments(args: readonly string[]): QemuCommand | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const disks = withStick(values.stick, (values.disk ?? []).map(parseDisk));
  const nics = (values.nic ?? ['virtio']).map(parseNic);
  const smbios = values.smbios === undefined ? undefined : parseSmbios(values.smbios);
  if (values.set && values.action === undefined) throw usage('--set needs an --action');
  if (values.state !== undefined && !values.orchestrator) throw usage('--state needs --orchestrator');
  const ways = ['action', 'orchestrator', 'stick'] as const;
  const chosen = ways.filter((way) => values[way] !== undefined).map((way) => `--${way}`);
  if (chosen.length > 1) throw usage(`${chosen.join(' and ')} exclude each other`);
  return {
    machine: {
      name: 'npm run qemu',
      firmware: oneOf('--firmware', values.firmware ?? (values.orchestrator ? 'ovmf' : 'seabios'), FIRMWARE),
      memoryMb: positive('--memory', values.memory ?? (values.orchestrator || values.stick ? '1024' : '512')),
      cpus: positive('--cpus', values.cpus ?? '1'),
      disks,
      nics,
      ...(smbios ? { smbios } : {}),
      ...(values.tpm ? { tpm: true } : {}),
      ...(values.clock === undefined ? {} : { clock: parseClock(values.clock) }),
    },
    profile: oneOf('--profile', values.profile ?? 'minimal', ['minimal', 'full']),
    action: values.action,
    orchestratorState: values.orchestrator ? (values.state ?? defaultStateFolder()) : undefined,
    hasStick: values.stick !== undefined,
    until: values.until,
    isVerbose: values.verbose ?? false,
    variables: Object.fromEntries((values.set ?? []).map(parseVariable)),
    append: values.append ?? '',
    keepDisks: values.keep ?? false,
    timeoutMs: positive('--timeout', values.timeout ?? '600') * 1000,
  };
}

const FIRMWARE: readonly Firmware[] = ['seabios', 'ovmf', 'ovmf-secure-boot'];

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        action: { type: 'string' },
        append: { type: 'string' },
        clock: { type: 'string' },
        cpus: { type: 'string' },
        disk: { type: 'string', multiple: true },
        firmware: { type: 'string' },
        help: { type: 'boolean' },
        keep: { type: 'boolean' },
        memory: { type: 'string' },
        nic: { type: 'string', multiple: true },
        orchestrator: { type: 'boolean' },
        profile: { type: 'string' },
        set: { type: 'string', multiple: true },
        smbios: { type: 'string' },
        state: { type: 'string' },
        stick: { type: 'string' },
        timeout: { type: 'string' },
        tpm: { type: 'boolean' },
        until: { type: 'string' },
        verbose: { type: 'boolean' },
      },
    }).values;
  } catch (cause) {
    throw usage(cause instanceof Error ? cause.message : String(cause));
  }
}

/** The stick comes first in the boot order and the disks after it, as they stand. */
function withStick(stick: string | undefined, disks: readonly DiskSpec[]): DiskSpec[] {
  if (stick === undefined) return [...disks];
  const inOrder = disks.map((disk, index) => ({ ...disk, bootIndex: index + 2 }));
  return [{ bus: 'usb', file: stick, removable: true, bootIndex: 1 }, ...inOrder];
}

function parseDisk(text: string): DiskSpec {
  const [head = '', ...rest] = text.split(',');
  const [busName = '', size] = head.split(':');
  const bus = oneOf('--disk', busName, DISK_BUSES);
  const options = parseOptions('--disk', rest, ['serial', 'wwn', 'sector', 'file']);
  if ((size === undefined) === (options.file === undefined)) {
    throw usage(`--disk ${text}: give a size (${bus}:4G) or a file (${bus},file=image.raw), one of the two`);
  }
  return {
    bus,
    ...(size === undefined ? {} : { size: parseSize(size) }),
    ...(options.file === undefined ? {} : { file: options.file }),
    ...(options.serial === undefined ? {} : { serial: options.serial }),
    ...(options.wwn === undefined ? {} : { wwn: options.wwn }),
    ...(options.sector === undefined
      ? {}
      : { logicalSectorBytes: positive('--disk sector', options.sector) }),
  };
}

function parseNic(text: string): NicSpec {
  const [modelName = '', ...rest] = text.split(',');
  const options = parseOptions('--nic', rest, ['mac', 'link', 'network']);
  return {
    model: oneOf('--nic', modelName, NIC_MODELS),
    ...(options.mac === undefined ? {} : { mac: options.mac }),
    ...(options.link === undefined ? {} : { link: oneOf('--nic link', options.link, ['up', 'down']) }),
    ...(options.network === undefined
      ? {}
      : { network: oneOf('--nic network', options.network, ['user', 'silent'] as const) }),
  };
}

function parseSmbios(text: string): MachineSpec['smbios'] {
  return parseOptions('--smbios', text.split(','), ['uuid', 'serial', 'manufacturer', 'product']);
}

function parseVariable(text: string): [name: string, value: string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw usage(`--set ${text}: write it as NAME=VALUE`);
  return [name, value];
}

function parseClock(text: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text))
    throw usage(`--clock ${text}: write it as 2001-09-09T01:46:40`);
  return text;
}

function parseOptions<K extends string>(
  option: string,
  parts: readonly string[],
  known: readonly K[],
): Partial<Record<K, string>> {
  const entries = parts.map((part) => {
    const at = part.indexOf('=');
    return [
      oneOf(option, at < 0 ? part : part.slice(0, at), known),
      at < 0 ? '' : part.slice(at + 1),
    ] as const;
  });
  return Object.fromEntries(entries) as Partial<Record<K, string>>;
}

function oneOf<T extends string>(option: string, value: string, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found === undefined) throw usage(`${option}: “${value}” is not one of ${known.join(', ')}`);
  return found;
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value <= 0)
    throw usage(`${option}: “${text}” is not a whole number above zero`);
  return value;
}

function usage(message: string): KindlingError {
  return new KindlingError('KND_USAGE', message, { hint: 'npm run qemu -- --help shows every option.' });
}
