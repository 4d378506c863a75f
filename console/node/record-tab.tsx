import type { FloorNode } from '../../protocol/floor.ts';
import type { ShippingRecord, SignedRecord } from '../../protocol/shipping-record.ts';
import { LabelButton } from '../floor/label.tsx';
import { useAnswer } from '../parts/answer.ts';
import { Fact } from '../parts/fact.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';
import { duration, exactTime } from '../words/time.ts';

/** The shipping record of the machine as it is now, and the ways to take it along. */
export function RecordTab({ node }: { node: FloorNode }) {
  const path = `/api/v1/nodes/${encodeURIComponent(node.id)}/record`;
  const answer = useAnswer<SignedRecord>(path, `${node.status} ${node.since}`);
  if (answer.kind === 'waiting') return <p class="quiet">Asking the server for the record…</p>;
  if (answer.kind === 'refused') return <ProblemText problem={answer.problem} />;
  const signed = answer.value;
  return (
    <>
      <div class="choices">
        <button type="button" onClick={() => save(signed)}>
          Save the signed record
        </button>
        <LabelButton node={node} />
      </div>
      <RecordFacts record={signed.record} />
    </>
  );
}

const VERDICTS = { done: '✓ Done', failed: '▲ Failed', open: '○ Not done yet' } as const;

function RecordFacts({ record }: { record: ShippingRecord }) {
  const { outcome, system, hardware, proof, stages, people, log } = record;
  const erased = hardware.disks.filter(({ erasure }) => erasure !== null).length;
  const names = [...new Set(people.map(({ who }) => who))];
  const image = system.written?.manifestRoot ?? system.written?.sha256 ?? system.imageSha256;
  return (
    <dl class="facts">
      <Fact name="Outcome">
        {VERDICTS[outcome.verdict]}: {plainText(outcome.status, 200)}
      </Fact>
      <Fact name="Profile">
        {system.profile ? `${plainText(system.profile, 120)}, generation ${system.generation}` : '–'}
      </Fact>
      <Fact name="Image">{plainText(system.imageUrl ?? '–', 300)}</Fact>
      <Fact name="Digest">{image ?? '–'}</Fact>
      <Fact name="First boot">{system.firstBootAt ? exactTime(system.firstBootAt) : '–'}</Fact>
      <Fact name="Work">
        {stages.length > 0
          ? `${many(stages.length, 'stage')}, ${duration(stages.reduce((sum, { seconds }) => sum + seconds, 0))}`
          : '–'}
      </Fact>
      <Fact name="Erasure">
        {erased} of {many(hardware.disks.length, 'disk')} with a certificate
      </Fact>
      <Fact name="Secure Boot">{plainText(hardware.firmware.secureBoot ?? '–', 40)}</Fact>
      <Fact name="TPM">{proof?.ekHash ?? '–'}</Fact>
      <Fact name="People">{names.map((name) => plainText(name, 60)).join(', ') || '–'}</Fact>
      <Fact name="Log">
        {many(log.lines, 'line')}, {log.sha256}
      </Fact>
    </dl>
  );
}

/** Saves what "kindling record verify" takes. */
function save(signed: SignedRecord): void {
  const bytes = new Blob([`${JSON.stringify(signed, null, 2)}\n`], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = `${signed.record.node.id}.record.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}
