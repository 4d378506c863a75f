import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { KindlingError } from '../../protocol/error.ts';
import { askNetwork, type Probe } from './ask-network.ts';
import { type Diagnosis, explainOffers } from './explain-offers.ts';

/** The machines the doctor pretends to be, one after the other. */
const PATIENTS: readonly { name: string; kind: Probe['kind']; architecture: number }[] = [
  { name: 'UEFI PXE (x64)', kind: 'PXEClient', architecture: 7 },
  { name: 'BIOS PXE', kind: 'PXEClient', architecture: 0 },
  { name: 'UEFI HTTP boot (x64)', kind: 'HTTPClient', architecture: 16 },
];

export interface Finding extends Diagnosis {
  client: string;
}

/** Asks the network as each kind of firmware would and explains every offer. */
export async function examineNetwork(device: string, listenMs: number): Promise<Finding[]> {
  const mac = macOfDevice(device);
  const findings: Finding[] = [];
  for (const { name, kind, architecture } of PATIENTS) {
    const offers = await askNetwork({ device, mac, kind, architecture, listenMs });
    findings.push({ client: name, ...explainOffers(offers) });
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

function macOfDevice(device: string): string {
  try {
    return readFileSync(`/sys/class/net/${device}/address`, 'utf8').trim();
  } catch (cause) {
    const known = Object.keys(networkInterfaces()).join(', ');
    throw new KindlingError(
      'KND_PXE_NO_INTERFACE',
      `there is no network interface "${device}"; this machine has: ${known}`,
      {
        cause,
      },
    );
  }
}
