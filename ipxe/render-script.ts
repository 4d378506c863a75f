import { KindlingError } from '../protocol/error.ts';
import { readOwnText } from '../system/own-file.ts';

/** What boot.ipxe is told about the site. Addresses may hold iPXE's own `${…}` settings. */
export interface BootScriptSettings {
  kernelUrl: string;
  initramfsUrl: string;
  /** Small signed archive of CA certificates and settings; absent when they are baked into the initramfs. */
  configArchiveUrl?: string;
  /** The site's loader, which UEFI machines start in place of the bare kernel. */
  loaderUrl?: string;
  /** host:port of the Tinkerbell server, as the agent reaches it. */
  grpcAuthority: string;
  tinkerbellTls?: boolean;
  /** Read by foreign agents only; ours runs actions itself. */
  tinkWorkerImage?: string;
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
  syslogHost?: string;
  consoles?: string[];
  additionalKernelArgs?: string[];
}

const EMF_CONSOLES = ['tty0', 'ttyS1,115200'];
const EMF_TINK_WORKER_IMAGE = 'quay.io/tinkerbell/tink-worker:v0.10.0';
const EMF_SYSLOG_HOST = '127.0.0.1';

/** The kernel's own limit on x86; what is longer is cut off silently (COMMAND_LINE_SIZE). */
const LONGEST_KERNEL_COMMAND_LINE = 2048;

/** The script that finds a network and chains to `bootUrl`; with image trust, only if the site signed it. */
export function renderChainScript(bootUrl: string, options: { imageTrust?: boolean } = {}): string {
  return render('chain.ipxe', { BOOT_URL: bootUrl, IMAGE_TRUST: options.imageTrust ? '1' : '' });
}

/** The script that loads and starts the Micro-OS. */
export function renderBootScript(settings: BootScriptSettings): string {
  const script = render('boot.ipxe', {
    KERNEL_URL: settings.kernelUrl,
    INITRAMFS_URL: settings.initramfsUrl,
    CONFIG_ARCHIVE_URL: settings.configArchiveUrl ?? '',
    LOADER_URL: settings.loaderUrl ?? '',
    GRPC_AUTHORITY: settings.grpcAuthority,
    TINKERBELL_TLS: String(settings.tinkerbellTls ?? false),
    TINK_WORKER_IMAGE: settings.tinkWorkerImage ?? EMF_TINK_WORKER_IMAGE,
    HTTP_PROXY: settings.httpProxy ?? '',
    HTTPS_PROXY: settings.httpsProxy ?? '',
    NO_PROXY: settings.noProxy ?? '',
    SYSLOG_HOST: settings.syslogHost ?? EMF_SYSLOG_HOST,
    CONSOLES: (settings.consoles ?? EMF_CONSOLES).map((console) => `console=${console}`).join(' '),
    ADDITIONAL_KERNEL_ARGS: (settings.additionalKernelArgs ?? []).join(' '),
  });
  const commandLine = /^imgargs .*$/m.exec(script)?.[0] ?? '';
  if (commandLine.length > LONGEST_KERNEL_COMMAND_LINE) {
    throw new KindlingError(
      'KND_USAGE',
      `the kernel command line would have ${commandLine.length} characters; the kernel takes ${LONGEST_KERNEL_COMMAND_LINE}`,
      { hint: 'Put settings into the config archive instead of the kernel command line.' },
    );
  }
  return script;
}

/** The kernel arguments of a boot script without those that only the machine knows: what can be signed. */
export function fixedKernelArguments(script: string): string {
  const [, ...words] = (/^imgargs (.*)$/m.exec(script)?.[1] ?? '').split(' ');
  return words.filter((word) => word !== '' && !word.includes('${') && !word.startsWith('initrd=')).join(' ');
}

function render(name: string, values: Record<string, string>): string {
  for (const [key, value] of Object.entries(values)) {
    // A line break would start a new iPXE command, "&&" and "||" would chain one.
    if (/[\r\n]|&&|\|\|/.test(value)) {
      throw new KindlingError('KND_USAGE', `${key} = ${JSON.stringify(value)} would change the iPXE script`);
    }
  }
  const template = readOwnText(`ipxe/scripts/${name}`);
  return template.replaceAll(/@([A-Z_]+)@/g, (_, key: string) => {
    const value = values[key];
    if (value === undefined) throw new Error(`${name} asks for @${key}@, which nothing gives`);
    return value;
  });
}
