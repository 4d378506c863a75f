import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { KindlingError } from '../protocol/error.ts';
import { publicArchiveKeys } from '../site/archive-key.ts';
import type { BootFilesRequest } from '../site/boot-files.ts';
import { trustVendor } from '../site/secure-boot-keys.ts';
import { ROTATABLE, type Rotatable } from '../site/site-keys.ts';
import { defaultStateFolder } from '../site/state-folder.ts';

interface SiteOptions {
  state: string;
  output?: string;
  url?: string;
  server?: string;
  microOs?: string;
  microOsUrl?: string;
  ipxe?: string;
  name: string[];
  env: string[];
  httpProxy?: string;
  httpsProxy?: string;
  proxyBypass?: string;
  console: string[];
  kernelArg: string[];
  rotate?: Rotatable;
  endOverlap?: Rotatable;
  usbImage?: string;
  vendorCertificate: string[];
}

const collect = (value: string, previous: string[]) => [...previous, value];

/** `kindling build site`: the keys of a site and everything its machines load before the agent runs, signed. */
export function defineBuildSite(site: Command): void {
  site
    .description('the site’s keys and its signed boot files: iPXE, scripts, loader, Micro-OS, config archive')
    .option(
      '--state <folder>',
      'folder of the orchestrator: keys are made there once and kept',
      defaultStateFolder(),
    )
    .option('-o, --output <folder>', 'where to put the files (default: tink-stack in the state folder)')
    .option('--url <url>', 'address of that folder as machines reach it')
    .option('--server <url>', 'address of the orchestrator as nodes reach it')
    .option('--micro-os <folder>', 'folder of a built Micro-OS (default: it is built)')
    .option('--micro-os-url <url>', 'where machines fetch kernel and initramfs from, if not from --url')
    .option('--ipxe <folder>', 'folder of an iPXE of kindling build ipxe (default: Debian’s)')
    .option('--name <name>', 'further name for the server certificate; may be repeated', collect, [])
    .option('--env <NAME=VALUE>', 'setting for the config archive; may be repeated', collect, [])
    .option('--http-proxy <url>', 'proxy for the nodes')
    .option('--https-proxy <url>', 'proxy for the nodes')
    .option('--proxy-bypass <hosts>', 'what nodes reach without a proxy')
    .option(
      '--console <console>',
      'console of the Micro-OS, such as ttyS0,115200; may be repeated',
      collect,
      [],
    )
    .option('--kernel-arg <argument>', 'further kernel argument; may be repeated', collect, [])
    .addOption(
      new Option('--rotate <key>', 'make a new key; the old one stays good until --end-overlap').choices(
        ROTATABLE,
      ),
    )
    .addOption(
      new Option('--end-overlap <key>', 'the key before the last rotation is good no more').choices(
        ROTATABLE,
      ),
    )
    .option(
      '--vendor-certificate <file>',
      'for Secure Boot: who signs the systems that are installed, for db; kept; may be repeated',
      collect,
      [],
    )
    .option('--usb-image <file>', 'also an image of a USB stick that boots from this site')
    .action(buildSite);
}

/** 1 what the files are made of: as given, else as last time  2 keys: rotate or forget  3 make the files  4 a stick */
async function buildSite(options: SiteOptions): Promise<void> {
  const [{ forgetPreviousKey, openSiteKeys, rotateKey }, { prepareBootFiles }, { saveRequest }] =
    await Promise.all([
      import('../site/site-keys.ts'),
      import('../site/boot-files.ts'),
      import('../site/kept-request.ts'),
    ]);
  const startedAt = performance.now();
  const request = await requestOf(options);
  if (options.rotate) await rotateKey(options.state, options.rotate);
  if (options.endOverlap) forgetPreviousKey(options.state, options.endOverlap);
  for (const file of options.vendorCertificate) trustVendor(options.state, file);
  const keys = await openSiteKeys(options.state, options.name);
  saveRequest(options.state, request);
  await prepareBootFiles(request, keys);
  if (options.usbImage) {
    const { makeUsbImage } = await import('../site/usb-image.ts');
    await makeUsbImage(options.usbImage, request.tftpFolder);
    console.log(`${resolve(options.usbImage)}: a USB stick that boots from this site`);
  }
  console.log(
    `${resolve(request.stackFolder)}: made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  );
  console.log(`The site’s key, for mirrors: ${publicArchiveKeys(keys.archive)[0]}`);
  console.log('For the firmware of the machines: keys/PK, KEK and db (.der, .esl, .auth), keys/tls-ca.esl');
}

async function requestOf(options: SiteOptions): Promise<BootFilesRequest> {
  const { keptRequest } = await import('../site/kept-request.ts');
  const kept = keptRequest(options.state);
  const stackUrl = options.url ?? kept?.stackUrl;
  const serverUrl = options.server ?? kept?.serverUrl;
  if (!stackUrl || !serverUrl)
    throw new KindlingError('KND_USAGE', 'kindling build site needs --url and --server the first time', {
      hint: 'As in: kindling build site --url http://10.0.0.1:8080/tink-stack --server https://10.0.0.1:8443',
    });
  const given = <T>(list: T[]) => (list.length > 0 ? list : undefined);
  const environment = given(options.env.map(parseSetting));
  const proxies = {
    ...kept?.proxies,
    ...(options.httpProxy ? { http: options.httpProxy } : {}),
    ...(options.httpsProxy ? { https: options.httpsProxy } : {}),
    ...(options.proxyBypass ? { no: options.proxyBypass } : {}),
  };
  return {
    stackFolder: options.output ?? kept?.stackFolder ?? join(options.state, 'tink-stack'),
    tftpFolder: kept?.tftpFolder ?? join(options.state, 'tftp'),
    stackUrl: checkUrl(stackUrl, '--url'),
    serverUrl: checkUrl(serverUrl, '--server'),
    microOsUrl: options.microOsUrl ?? kept?.microOsUrl,
    microOsFolder: options.microOs ?? kept?.microOsFolder ?? (await builtMicroOs()),
    ipxeFolder: options.ipxe ?? kept?.ipxeFolder ?? (await debianIpxe()),
    environment: environment ? Object.fromEntries(environment) : kept?.environment,
    proxies,
    consoles: given(options.console) ?? kept?.consoles,
    additionalKernelArgs: given(options.kernelArg) ?? kept?.additionalKernelArgs,
  };
}

function checkUrl(text: string, flag: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new KindlingError(
      'KND_USAGE',
      `${flag} ${text} is not an address that starts with http:// or https://`,
    );
  return text.replace(/\/$/, '');
}

function parseSetting(text: string): [string, string] {
  const equals = text.indexOf('=');
  if (equals < 1) throw new KindlingError('KND_USAGE', `--env ${text} is not NAME=VALUE`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}

async function builtMicroOs(): Promise<string> {
  const { ensureMicroOs } = await import('../initrd/index.ts');
  return (await ensureMicroOs('minimal', 'small')).folder;
}

async function debianIpxe(): Promise<string> {
  const { ensureIpxe } = await import('../ipxe/debian-ipxe.ts');
  return ensureIpxe();
}
