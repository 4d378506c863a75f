import { readFileSync } from 'node:fs';
import { readDevice } from '../device-address.ts';
import { indexReservations, readReservations } from '../dhcp/reservations-file.ts';
import { askNetwork, type Probe } from './ask-network.ts';
import { type Diagnosis, explainOffers } from './explain-offers.ts';

/** The machines the doctor pretends to be, one after the other. */
const PATIENTS: readonly { name: string; kind: Probe['kind']; architecture: number }[] = [
  { name: 'UEFI PXE (x64)', kind: 'PXEClient', architecture: 7 },
  { name: 'BIOS PXE', kind: 'PXEClient', architecture: 0 },
  { name: 'UEFI HTTP boot (x64)', kind: 'HTTPClient', architecture: 16 },
];

const BOOT_SERVICE_PORT = 4011;

export interface Finding extends Diagnosis {
  client: string;
}

export interface Examination {
  listenMs: number;
  /** Whom to ask as; without it the first machine of the list that may boot, or the device itself. */
  mac?: string | undefined;
  /** File with the reservations of the site's server. */
  reservationsPath?: string | undefined;
}

/** Asks the network as each kind of firmware would and explains every offer. */
export async function examineNetwork(device: string, examination: Examination): Promise<Finding[]> {
  const { listenMs, reservationsPath } = examination;
  const entries = reservationsPath === undefined ? [] : readReservations(reservationsPath);
  const bootable = entries.find(({ allowsNetboot }) => allowsNetboot !== false);
  const mac = examination.mac ?? bootable?.mac ?? (await readDevice(device)).mac;
  const list =
    reservationsPath === undefined
      ? {}
      : { list: { path: reservationsPath, reservations: indexReservations(entries) } };
  const serves = thisMachineServes(readFileSync('/proc/net/udp', 'latin1'));
  const findings: Finding[] = [];
  for (const { name, kind, architecture } of PATIENTS) {
    const offers = await askNetwork({ device, mac, kind, architecture, listenMs });
    findings.push({
      client: name,
      ...explainOffers(offers, { device, mac, thisMachineServes: serves, ...list }),
    });
  }
  return findings;
}

export function describeFindings(findings: Finding[]): string {
  const lines: string[] = [];
  for (const { client, offers, problems } of findings) {
    lines.push(`${client}:`);
    for (const offer of offers) {
      const facts = [
        offer.address && `address ${offer.address}`,
        offer.bootFile && `boot file ${offer.bootFile}`,
        offer.nextServer && `from ${offer.nextServer}`,
      ].filter(Boolean);
      lines.push(`  ${offer.server} offers ${offer.gives}${facts.length > 0 ? `: ${facts.join(', ')}` : ''}`);
    }
    for (const { what, next } of problems) lines.push(`  ✘ ${what}`, `    ${next}`);
    if (problems.length === 0) lines.push('  ✔ this client would boot');
  }
  return `${lines.join('\n')}\n`;
}

/** Whether a program here has the port of the PXE boot service (/proc/net/udp: "  12: 00000000:0FAB 00000000:0000 …"). */
export function thisMachineServes(udpTable: string): boolean {
  const port = BOOT_SERVICE_PORT.toString(16).toUpperCase().padStart(4, '0');
  return udpTable.split('\n').some((line) => line.trim().split(/\s+/)[1]?.endsWith(`:${port}`));
}
