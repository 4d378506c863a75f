import { markdownTable } from '../../formats/markdown-table.ts';
import { document as decoupleMicroOs } from './decouple-micro-os.ts';
import type { ConformanceDocument, ConformanceItem } from './document.ts';
import { document as onboardingAndProvisioning } from './onboarding-and-provisioning.ts';
import { document as pxeWithCloudOrchestrator } from './pxe-with-cloud-orchestrator.ts';
import { document as scaleProvisioning } from './scale-provisioning.ts';
import { document as standaloneInstaller } from './standalone-installer.ts';

export const DOCUMENTS: readonly ConformanceDocument[] = [
  decoupleMicroOs,
  onboardingAndProvisioning,
  pxeWithCloudOrchestrator,
  standaloneInstaller,
  scaleProvisioning,
];

const STATES = { done: 'done', open: '**open**', 'not-applicable': 'not applicable' } as const;

/** docs/reference/conformance.md */
export function conformancePage(): string {
  const sections = DOCUMENTS.map(({ title, items }) => `## ${title}\n\n${itemTable(items)}`);
  return `# Conformance

Kindling began with five documents about network boot, onboarding and provisioning. This page lists everything they ask
for, in our words, with the tests that fail without it. An open item says what is missing; its tests prove the part that
is there. The page is made from the tables in \`setup/conformance\`, and a test holds that every named test exists.

${totals()}

${sections.join('\n\n')}\n`;
}

function totals(): string {
  const count = (items: readonly ConformanceItem[], state: ConformanceItem['state']) =>
    String(items.filter((item) => item.state === state).length);
  const row = (title: string, items: readonly ConformanceItem[]) => [
    title,
    String(items.length),
    count(items, 'done'),
    count(items, 'open'),
    count(items, 'not-applicable'),
  ];
  return markdownTable(
    ['document', 'items', 'done', 'open', 'not applicable'],
    [
      ...DOCUMENTS.map(({ title, items }) => row(title, items)),
      row(
        'all',
        DOCUMENTS.flatMap(({ items }) => items),
      ),
    ],
  );
}

function itemTable(items: readonly ConformanceItem[]): string {
  return markdownTable(
    ['', 'item', 'state', 'tests', 'remark'],
    items.map(({ id, says, state, tests, remark }) => [
      String(id),
      says,
      STATES[state],
      tests.map((test) => `[${test.replace(/^test\//, '')}](../../${test})`).join(', '),
      remark ?? '',
    ]),
  );
}
