import type { z } from 'zod';
import type { LogLineSchema, NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import type { Inventory } from '../../protocol/inventory.ts';
import { formatBytes } from '../../system/format-bytes.ts';
import { formatFields, formatTable, printable } from '../table.ts';
import { silenceOf } from './silence.ts';

/** How far the action of a node is (percent, rate, time left, as the node says), and whether it has gone silent. */
export function runningLine({ workflow }: NodeView, now = Date.now()): string | undefined {
  if (workflow?.state !== 'RUNNING') return undefined;
  const silence = workflow.heardAt === null ? undefined : silenceOf(Date.parse(workflow.heardAt), now);
  return [workflow.message, silence].filter(Boolean).join(' · ') || undefined;
}

/** One node for a person: who it is, how it is, what is in it. */
export function formatNode(node: NodeView): string {
  const { workflow } = node;
  const fields = formatFields([
    ['id', node.id],
    ['name', node.name],
    ['status', node.status],
    ['uuid', node.uuid],
    ['serial', node.serial],
    ['mac', node.mac],
    ['ip', node.ip],
    ['state', `${node.currentState} (wanted: ${node.desiredState})`],
    ['registration', node.registrationStatus.text],
    ['onboarding', node.onboardingStatus.text],
    ['proof', proofLine(node)],
    ['provisioning', node.provisioningStatus?.text],
    ['profile', node.profile],
    [
      'generation',
      node.generation ? `${node.generation} (on disk: ${node.provisionedGeneration || 'none'})` : null,
    ],
    [
      'workflow',
      workflow
        ? `${workflow.id}: ${workflow.state}, ${workflow.index + 1}/${workflow.total} ${workflow.action}`
        : null,
    ],
    ['message', runningLine(node) ?? workflow?.message],
    ['first boot', firstBootLine(node)],
    ['agents', node.agents && [node.agents.state, node.agents.reason].filter(Boolean).join(': ')],
    ['site', node.site],
    [
      'metadata',
      Object.entries(node.metadata)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    ],
    ['last seen', node.lastSeenAt],
  ]);
  const hardware =
    formatHardware(node.inventory as Partial<Inventory> | undefined) || formatAttributes(node.attributes);
  return hardware ? `${fields}\n\n${hardware}` : fields;
}

/** When the installed system reported, and what it said was wrong with it. */
function firstBootLine({ firstBootAt, firstBoot }: NodeView): string | null {
  if (!firstBootAt || !firstBoot) return firstBootAt;
  const { cloudInit, failedUnits } = firstBoot;
  const wrong = [
    ...(['error', 'degraded'].includes(cloudInit) ? [`cloud-init: ${cloudInit}`] : []),
    ...(failedUnits.length > 0 ? [`failed units: ${failedUnits.join(', ')}`] : []),
  ];
  return [firstBootAt, ...wrong].join('; ');
}

/** By which TPM a node is known, and whether it showed that one when it was let in. */
function proofLine({ proven, ekHash, currentState }: NodeView): string | undefined {
  if (proven) return `proven ${proven.at}, TPM ${ekHash}, ${proven.certifiedBy ?? 'without a certificate'}`;
  if (ekHash) return `known by TPM ${ekHash}`;
  return currentState === 'ONBOARDED' ? 'unproven' : undefined;
}

/** A machine that only a Tinkerbell agent told about: its attributes as paths and values. */
function formatAttributes(attributes: unknown): string {
  return formatFields(leaves(attributes).map(([path, value]) => [path, value]));
}

function leaves(node: unknown, path = ''): [string, string][] {
  if (typeof node !== 'object' || node === null) return path ? [[path, String(node)]] : [];
  return Object.entries(node).flatMap(([key, value]) => leaves(value, path ? `${path}.${key}` : key));
}

function formatHardware(inventory: Partial<Inventory> | undefined): string {
  if (!inventory) return '';
  const { cpu, memory, disks = [], nics = [], firmware } = inventory;
  const facts = formatFields([
    ['cpu', cpu ? `${cpu.model}, ${cpu.cores} cores, ${cpu.threads} threads` : null],
    ['memory', memory ? formatBytes(memory.totalBytes) : null],
    ['firmware', firmware ? `${firmware.kind}, Secure Boot ${firmware.secureBoot}` : null],
  ]);
  const diskTable = formatTable(disks, [
    ['DISK', ({ name }) => name],
    ['SIZE', ({ sizeBytes }) => formatBytes(sizeBytes)],
    ['BUS', ({ bus }) => bus],
    ['MODEL', ({ model }) => model],
    ['SERIAL', ({ serial }) => serial],
  ]);
  const nicTable = formatTable(nics, [
    ['NIC', ({ name }) => name],
    ['MAC', ({ mac }) => mac],
    ['LINK', ({ hasLink, speedMbps }) => (hasLink ? `${speedMbps ?? '?'} Mb/s` : 'no')],
    ['ADDRESS', ({ addresses }) => addresses?.join(' ')],
  ]);
  return [facts, disks.length > 0 ? diskTable : '', nics.length > 0 ? nicTable : '']
    .filter(Boolean)
    .join('\n\n');
}

export function formatLogLine({ time, level, message, fields }: z.output<typeof LogLineSchema>): string {
  const where = [fields?.['workflow'], fields?.['action']].filter(Boolean).join(' ');
  const mark = level === 'info' ? '' : `${level.toUpperCase()} `;
  return printable(`${time} ${where ? `[${where}] ` : ''}${mark}${message}`);
}
