import type { NetbootClient } from './netboot-client.ts';

/** Where a client of this site finds its next stage. */
export interface BootUrls {
  /** Address of the TFTP server, as clients reach it. */
  tftpAddress: string;
  tftpPort: number;
  /** Folder of iPXE binaries over HTTP(S); ends with a slash. */
  binaryBase: string;
  /** The script iPXE runs. `{mac}` in it is replaced. */
  script: string;
  /** Let an iPXE that is not ours run the script itself, instead of loading our iPXE first. */
  foreignIpxeRunsScript?: boolean;
  /** A file given to every firmware of a kind instead of iPXE, e.g. a signed UKI for HTTP boot. */
  override?: Partial<Record<NetbootClient['kind'], string>>;
}

/** Under BIOS iPXE looks for no autoexec.ipxe: Debian's asks as a foreign one would, and to be given itself again would go on for ever. */
const ASKS_AGAIN = 'undionly.kpxe';

/** The boot file of an offer: the script for our iPXE, iPXE itself for everybody else; undefined if we have none for it. */
export function bootFileFor(client: NetbootClient, urls: BootUrls): string | undefined {
  const foreignRunsScript = urls.foreignIpxeRunsScript || client.binary === ASKS_AGAIN;
  const runsScript = client.stage === 'our-ipxe' || (client.stage === 'foreign-ipxe' && foreignRunsScript);
  if (runsScript) return urls.script.replaceAll('{mac}', client.mac);
  if (!client.binary) return undefined; // nor could it start what stands in for iPXE
  const override = client.stage === 'firmware' ? urls.override?.[client.kind] : undefined;
  if (override) return override;
  if (client.kind === 'HTTPClient') return `${urls.binaryBase}${client.binary}`;
  // A foreign iPXE resolves a bare name against its own settings; only a full address is sure to lead here.
  if (client.stage === 'foreign-ipxe') {
    return `tftp://${urls.tftpAddress}:${urls.tftpPort}/${client.mac}/${client.binary}`;
  }
  return client.binary;
}
