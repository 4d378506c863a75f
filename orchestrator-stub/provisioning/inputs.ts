import { quoteText } from '../../formats/go-text.ts';
import { AGENTS_MARKER, agentsScript, installAgentsScript } from '../../system/first-boot/agents-script.ts';
import { firstBootScript } from '../../system/first-boot/first-boot-script.ts';
import type { NodeClient } from '../credentials/credentials.ts';
import type { Discovery } from '../nodes/discovery.ts';
import type { Host } from '../nodes/host.ts';
import type { Instance } from '../nodes/instance.ts';
import { hasAgents, isStandalone, type Profile, reportsFirstBoot } from '../nodes/profile.ts';
import { agentVariables } from '../settings/agent-variables.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import { cloudInitTemplate } from '../workflow/built-in.ts';
import { renderTemplate } from '../workflow/go-template/render.ts';
import type { TemplateData } from '../workflow/go-template/values.ts';
import { packCustomConfigs } from './custom-configs.ts';
import { nodeHardware } from './node-hardware.ts';

export interface WorkflowInputs {
  host: Host;
  instance: Instance;
  profile: Profile;
  settings: SiteSettings;
  /** Whether nodes that get the same image help each other. */
  hasNeighbors: boolean;
  inventory: Discovery | undefined;
  /** What a Tinkerbell agent said of the machine. */
  attributes?: unknown;
  client: NodeClient;
  isQcow2: boolean;
  /** PEM of the site's CA. */
  ca: string;
  /** How the node reaches this server: "https://10.0.2.2:8443". */
  origin: string;
}

/** EMF's contract with its installer: the unit runs it again until the file is there. */
const INSTALLER = {
  unit: 'install-profile-pkgs-and-node-agent.service',
  doneFile: '/home/postinstall/Setup/.base_pkg_install_done',
};
const CREDENTIALS = '/etc/intel_edge_node/client-credentials';
const SITE_CA = '/opt/kindling/site-ca.crt';
const COMPRESSED_SUFFIX = /\.(gz|bz2|bzip2|xz|zs|zst)(\?|#|$)/;

/**
 * Everything a workflow template may refer to, under the names of docs/background/emf.md#template-inputs. All
 * values are texts.
 */
export function templateData(inputs: WorkflowInputs): { [key: string]: TemplateData } {
  const { host, profile, settings, inventory, attributes, client } = inputs;
  const image = (name: string) => `${settings.actionRegistry}/${name}:${settings.actionVersion}`;
  const customConfigs = packCustomConfigs(profile.customConfigs, isStandalone(profile));
  return {
    DeviceInfoHwSerialID: host.serial ?? host.reportedSerial ?? '',
    DeviceInfoHwMacID: host.reportedMac ?? '',
    DeviceInfoHwIP: host.reportedIp ?? '',
    DeviceInfoOSImageURL: imageUrl(profile),
    DeviceInfoOsImageSHA256: profile.imageSha256,
    DeviceInfoOSImageCompressed: String(COMPRESSED_SUFFIX.test(profile.imageUrl)),
    DeviceInfoOSTLSCACert: profile.imageCaCert ? Buffer.from(profile.imageCaCert).toString('base64') : '',
    DeviceInfoGateway: '',
    DeviceInfoImgType: profile.osType === 'IMMUTABLE' ? 'microvisor' : 'ubuntu',
    DeviceInfoGUID: host.uuid ?? '',
    DeviceInfoSecurityFeature: `SECURITY_FEATURE_${profile.security}`,
    DeviceInfoAuthClientID: client.clientId,
    DeviceInfoAuthClientSecret: client.secret,
    DeviceInfoTinkerVersion: settings.actionVersion,
    DeviceInfoHostname: host.id,
    DeviceInfoOsType: `OS_TYPE_${profile.osType}`,
    DeviceInfoTenantID: host.projectId,
    DeviceInfoPlatformBundle: '',
    DeviceInfoLocalAccountUserName: profile.localAccount?.user ?? '',
    DeviceInfoSSHKey: profile.localAccount?.sshKey ?? '',
    DeviceInfoOSResourceID: profile.name,
    DeviceInfoCustomConfigs: customConfigs.text,
    DeviceInfoIsStandaloneNode: String(isStandalone(profile)),
    DeviceInfoUserLVMSize: String(profile.lvmSizeGb),
    DeviceInfoKernelVersion: profile.kernelVersion,
    DeviceInfoSkipKernelUpgrade: String(profile.skipKernelUpgrade),
    TinkerActionImageEraseNonRemovableDisk: image('erase_non_removable_disks'),
    TinkerActionImageWriteFile: image('writefile'),
    TinkerActionImageSecureBootFlagRead: image('securebootflag'),
    TinkerActionImageCexec: image('cexec'),
    TinkerActionImageEfibootset: image('efibootset'),
    TinkerActionImageKernelUpgrade: image('kernelupgrd'),
    TinkerActionImageFdeDmv: image('fde_dmv'),
    TinkerActionImageStreamOSImageToDisk: image(writerOf(inputs)),
    EnvENProxyHTTP: settings.httpProxy,
    EnvENProxyHTTPS: settings.httpsProxy,
    EnvENProxyNoProxy: settings.noProxy,
    // Ours: EMF's action ignores it. A cloud-init of the operator's own may not commit the boot order.
    BootPolicy: commitsBootOrder(profile) ? 'after-report' : 'disk-first',
    CloudInitData: quoteText(profile.cloudInit ?? cloudInit(inputs)),
    CustomConfigs: quoteText(customConfigs.text),
    CustomConfigsSplitCommand: quoteText(customConfigs.splitCommand),
    InstallerScript: quoteText(
      profile.installerScript ?? installAgentsScript(profile.agents?.packages ?? [], INSTALLER.doneFile),
    ),
    OsResourceID: profile.name,
    // Ours: where the recovery key of an encrypted disk goes, and whom to trust there. Other agents ignore the variable.
    KindlingEscrowUrl: `${settings.publicUrl ?? inputs.origin}/api/v1/recovery-keys/${inputs.instance.escrowKey ?? inputs.instance.firstBootKey}`,
    // Ours too: where the node finds others that write the same image. Empty where the site has none of it.
    KindlingNeighboursUrl: inputs.hasNeighbors
      ? `${settings.publicUrl ?? inputs.origin}/api/v1/neighbours/${inputs.instance.neighborsKey ?? inputs.instance.firstBootKey}`
      : '',
    // And whether the site wants to be asked before a disk is destroyed. Empty where it does not.
    KindlingRequireConsent: settings.requireConsent === 'never' ? '' : settings.requireConsent,
    // How disks are erased; empty for "auto", so that workflows stay as EMF has them.
    KindlingEraseMethod: (profile.eraseMethod ?? 'auto') === 'auto' ? '' : profile.eraseMethod,
    // What the machine does in the end; EMF's action reboots always.
    KindlingAfter: profile.after,
    KindlingCaCert: Buffer.from(inputs.ca).toString('base64'),
    // Tinkerbell's own names, for templates that come from there.
    device_1: host.reportedMac ?? '',
    ...nodeHardware(host, { inventory, attributes, ntpServers: settings.ntpServers }),
    ...profile.variables,
  };
}

/**
 * A path is on the release file server, which the node reaches through its local front
 * (docs/background/emf.md#template-inputs, docs/background/emf.md#local-addresses).
 */
function imageUrl(profile: Profile): string {
  if (profile.osType === 'MUTABLE' || /^[a-z][a-z0-9+.-]*:\/\//i.test(profile.imageUrl))
    return profile.imageUrl;
  return `http://127.0.0.1/${profile.imageUrl.replace(/^\/+/, '')}`;
}

/** Whether the installed system will report and then put itself at the head of the boot order. */
function commitsBootOrder(profile: Profile): boolean {
  return profile.cloudInit === null && reportsFirstBoot(profile);
}

/** EMF has one action for qcow2 and one for everything else; Tinkerbell's name for an ISO says what is written. */
function writerOf({ profile, isQcow2 }: WorkflowInputs): string {
  if (profile.imageFormat === 'iso') return 'iso2disk';
  return isQcow2 ? 'qemu_nbd_image2disk' : 'image2disk';
}

function cloudInit({ host, profile, settings, client, ca, origin, instance }: WorkflowInputs): string {
  const proxies = {
    http_proxy: settings.httpProxy,
    https_proxy: settings.httpsProxy,
    no_proxy: settings.noProxy,
  };
  const serverUrl = settings.publicUrl ?? origin;
  const firstBootUrl = `${serverUrl}/api/v1/first-boot/${instance.firstBootKey}`;
  return renderTemplate(
    cloudInitTemplate(),
    {
      HOST_MAC: (host.reportedMac ?? '').toLowerCase(),
      HOSTNAME: host.id,
      TENANT_ID: host.projectId,
      CLIENT_ID: client.clientId,
      CLIENT_SECRET: client.secret,
      CA_CERT: ca.trimEnd(),
      LOCAL_USER: profile.localAccount?.user ?? '',
      SSH_KEY: profile.localAccount?.sshKey ?? '',
      NTP_SERVERS: settings.ntpServers,
      PROXY_LINES: Object.entries(proxies)
        .filter(([, value]) => value)
        .map(([name, value]) => `${name}=${value}`),
      IS_STANDALONE: isStandalone(profile),
      HAS_COMMANDS: !isStandalone(profile) || Object.values(proxies).some(Boolean),
      AGENT_VARIABLES: agentVariables(serverUrl, settings.agentVariables, profile.agents?.variables ?? {}),
      AGENT_VERSIONS: agentVersions(profile),
      AGENTS_SCRIPT: hasAgents(profile) ? startAgents(profile, firstBootUrl) : '',
      AGENTS_MARKER,
      COMMITS_BOOT_ORDER: commitsBootOrder(profile),
      FIRST_BOOT_MINUTES: String(settings.firstBootMinutes),
      FIRST_BOOT_SCRIPT: firstBootScript({
        url: firstBootUrl,
        ca: SITE_CA,
        retrySeconds: 10,
        hasAgents: hasAgents(profile),
        ...(commitsBootOrder(profile)
          ? { commitsBootOrder: true, bootOrderUrl: `${firstBootUrl}/boot-order` }
          : {}),
      }).trimEnd(),
    },
    { name: 'cloud-init.cfg' },
  );
}

function startAgents({ osType, agents }: Profile, url: string): string {
  return agentsScript({
    url,
    ca: SITE_CA,
    retrySeconds: 10,
    ...(osType === 'MUTABLE' ? { installer: INSTALLER } : {}),
    owner: agents?.owner ?? '',
    credentials: CREDENTIALS,
    services: agents?.services ?? [],
    steadySeconds: 10,
  }).trimEnd();
}

/** Immutable images come with their agents: there is nothing to choose a version of. */
function agentVersions({ osType, agents }: Profile): string[] {
  if (osType === 'IMMUTABLE') return [];
  return Object.entries(agents?.versions ?? {}).map(([name, version]) => `${name}=${version}`);
}
