import type { FloorNode } from '../../protocol/floor.ts';
import { lastSixOf } from '../../protocol/last-six.ts';
import { plainText } from './plain-text.ts';

/** The six characters by which people call a machine across a room: the end of its serial, else of its MAC, else of its UUID. */
export function lastSix({ serial, macs, uuid }: Pick<FloorNode, 'serial' | 'macs' | 'uuid'>): string {
  const known = [serial, macs[0], uuid].map((text) => lastSixOf(plainText(text ?? '', 200)));
  return known.find((six) => six !== '') ?? '–';
}

/** How a machine is called in a sentence: its name, where it has one of its own, with the six characters of its label. */
export function nodeTitle(node: FloorNode): string {
  const six = lastSix(node);
  const name = plainText(node.name, 120);
  return name === '' || name === node.id ? six : `${name} (${six})`;
}

/** What was scanned. Our labels have the address of the machine's page; its id says the same. */
export function scannedText(text: string): string {
  return /\/nodes\/([\w.-]+)$/.exec(text.trim())?.[1] ?? text.trim();
}

/** Whether what was typed or scanned means this machine; every part of the text has to be found in it. */
export function matches(node: FloorNode, typed: string): boolean {
  const { name, serial, macs, uuid, place, profile, id, site } = node;
  const facts = [name, serial, uuid, place, profile, id, site, ...macs]
    .map((fact) => fact?.toLowerCase() ?? '')
    .join('\n');
  const bare = facts.replaceAll(/[:-]/g, '');
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((part) => facts.includes(part) || bare.includes(part.replaceAll(/[:-]/g, '')));
}

/** Whether a scanned label is exactly this machine: serial, MAC, UUID, name or the last six of the serial. */
export function isLabelOf(node: FloorNode, scanned: string): boolean {
  const bare = (text: string | null) => (text ?? '').toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const wanted = bare(scanned);
  if (wanted === '') return false;
  return [node.serial, node.uuid, node.name, node.id, lastSix(node), ...node.macs].some(
    (fact) => bare(fact) === wanted,
  );
}
