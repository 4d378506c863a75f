import { useState } from 'preact/hooks';
import type { ShiftFigures } from '../../protocol/shift-figures.ts';
import { useAnswer } from '../parts/answer.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Fact } from '../parts/fact.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { plainText } from '../words/plain-text.ts';
import { duration, exactTime } from '../words/time.ts';

/** How the last eight hours went, for who leads the shift. */
export function ShiftButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        Shift
      </button>
      {isOpen && <ShiftDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function ShiftDialog({ onClose }: { onClose: () => void }) {
  const answer = useAnswer<ShiftFigures>('/api/v1/shift');
  return (
    <Dialog title="This shift" onClose={onClose}>
      {answer.kind === 'waiting' && <p>Asking the server for the figures…</p>}
      {answer.kind === 'refused' && <ProblemText problem={answer.problem} />}
      {answer.kind === 'here' && <Figures of={answer.value} />}
      <form method="dialog" class="choices">
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </Dialog>
  );
}

function Figures({ of }: { of: ShiftFigures }) {
  const { since, done, failed, firstPass, firstPassYield, perHour, slowestStage } = of;
  return (
    <dl class="facts">
      <Fact name="Since">{exactTime(since)}</Fact>
      <Fact name="Done">{done}</Fact>
      <Fact name="Failed">{failed}</Fact>
      <Fact name="First pass">
        {firstPassYield === null
          ? '–'
          : `${firstPass} of ${done + failed} (${Math.round(100 * firstPassYield)} %)`}
      </Fact>
      <Fact name="Per hour">{perHour.toFixed(1)}</Fact>
      <Fact name="Slowest stage">
        {slowestStage
          ? `${plainText(slowestStage.stage, 60)}, usually ${duration(slowestStage.medianSeconds)}`
          : '–'}
      </Fact>
    </dl>
  );
}
