import { useState } from 'preact/hooks';
import type { FloorNode } from '../../protocol/floor.ts';
import type { Label } from '../../protocol/label.ts';
import { useAnswer } from '../parts/answer.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { nodeTitle } from '../words/node-words.ts';
import { plainText } from '../words/plain-text.ts';

/** Opens the label of a machine, for the printer that the browser knows. */
export function LabelButton({ node }: { node: FloorNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-label={`Label of ${nodeTitle(node)}`} onClick={() => setOpen(true)}>
        Label
      </button>
      {isOpen && <LabelDialog node={node} onClose={() => setOpen(false)} />}
    </>
  );
}

function LabelDialog({ node, onClose }: { node: FloorNode; onClose: () => void }) {
  const answer = useAnswer<Label>(`/api/v1/nodes/${encodeURIComponent(node.id)}/label`);
  return (
    <Dialog title={`Label of ${plainText(node.name, 60)}`} onClose={onClose}>
      {answer.kind === 'waiting' && <p>Asking the server for the label…</p>}
      {answer.kind === 'refused' && <ProblemText problem={answer.problem} />}
      {answer.kind === 'here' && <PrintedLabel label={answer.value} />}
      <form method="dialog" class="choices">
        {answer.kind === 'here' && (
          <button type="button" class="primary" onClick={() => print()}>
            Print
          </button>
        )}
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

/** The only thing that is printed while it is there (label.css). */
function PrintedLabel({ label: { short, name, lines, url, qr } }: { label: Label }) {
  return (
    <article class="label">
      <svg viewBox={`0 0 ${qr.side} ${qr.side}`} role="img" aria-label={url} shape-rendering="crispEdges">
        <path d={qr.path} />
      </svg>
      <div>
        <p class="short">{plainText(short, 20)}</p>
        <p class="name">{plainText(name, 80)}</p>
        {lines.map((line) => (
          <p key={line}>{plainText(line, 120)}</p>
        ))}
      </div>
    </article>
  );
}
