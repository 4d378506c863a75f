import { useState } from 'preact/hooks';
import type { FloorNode } from '../../protocol/floor.ts';
import type { Disk, Inventory, Partition, Signature } from '../../protocol/inventory.ts';
import { call } from '../api/call.ts';
import { may, rights } from '../api/session.ts';
import { begin } from '../floor/question.tsx';
import { ProblemText, type ShownProblem, shownProblem } from '../parts/problem-text.tsx';
import { Ago } from '../parts/since.tsx';
import { possibleActions } from '../words/action-table.ts';
import { bytes } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';
import { sentenceCase } from '../words/sentence-case.ts';

interface DisksTabProps {
  node: FloorNode;
  inventory: Partial<Inventory> | undefined;
}

/** The disks with what is on them, the plan that waits for consent, and the keys of those that are encrypted. */
export function DisksTab({ node, inventory }: DisksTabProps) {
  const disks = (inventory?.disks ?? []).filter(({ kind }) => kind === 'disk');
  return (
    <>
      {node.plan && (
        <div class="plan">
          <p>
            <strong>{sentenceCase(plainText(node.reason?.message ?? ''))}</strong>
          </p>
          {possibleActions(node, rights.value).includes('approve') && (
            <p>
              <button type="button" class="destructive" onClick={() => begin('approve', [node])}>
                Approve plan…
              </button>
            </p>
          )}
        </div>
      )}
      {disks.length === 0 && <p class="quiet">The machine has not told of any disk yet.</p>}
      {disks.map((disk) => (
        <DiskPicture key={disk.path} disk={disk} />
      ))}
      {may('secrets:read') && <RecoveryKeys id={node.id} />}
    </>
  );
}

function DiskPicture({ disk }: { disk: Disk }) {
  const { name, model, serial, sizeBytes, bus } = disk;
  const partitions = disk.partitions ?? [];
  const used = partitions.reduce((sum, part) => sum + part.sizeBytes, 0);
  return (
    <section class="disk" aria-label={`Disk ${name}`}>
      <h3>
        <bdi>{plainText(model ?? name, 80)}</bdi> <span class="count">{bytes(sizeBytes)}</span>
      </h3>
      <p class="quiet">
        <bdi>
          {[name, bus, serial && `serial ${serial}`]
            .filter(Boolean)
            .map((fact) => plainText(fact ?? '', 80))
            .join(' · ')}
        </bdi>
      </p>
      <ol class="partitions">
        {partitions.map((part) => (
          <li key={part.number} style={{ flexGrow: part.sizeBytes / sizeBytes }}>
            <bdi>{partitionWords(part)}</bdi> <span class="count">{bytes(part.sizeBytes)}</span>
          </li>
        ))}
        <li class="free" style={{ flexGrow: Math.max(0, 1 - used / sizeBytes) }}>
          {partitions.length === 0 ? signatureWords(disk.signatures ?? []) || 'empty' : ''}
        </li>
      </ol>
    </section>
  );
}

function partitionWords({ number, signatures, partLabel }: Partition): string {
  return plainText([number, signatureWords(signatures ?? []) || partLabel].filter(Boolean).join(' '), 80);
}

function signatureWords(signatures: readonly Signature[]): string {
  return signatures.map(({ type, label }) => (label ? `${type} “${label}”` : type)).join(', ');
}

interface RecoveryKey {
  keyId: string;
  /** Null: only the owner of the site's offline key can read it. */
  recoveryKey: string | null;
  encryptedKey?: string;
  receivedAt: string;
}

/** Shown when asked for only: the server writes down who did. */
function RecoveryKeys({ id }: { id: string }) {
  const [keys, setKeys] = useState<RecoveryKey[]>();
  const [problem, setProblem] = useState<ShownProblem>();
  const show = () => {
    call<{ keys: RecoveryKey[] }>('GET', `/api/v1/nodes/${encodeURIComponent(id)}/recovery-keys`).then(
      (answer) => setKeys(answer.keys),
      (thrown: unknown) => setProblem(shownProblem(thrown)),
    );
  };
  return (
    <section class="recovery" aria-label="Recovery keys">
      {keys === undefined ? (
        <button type="button" onClick={show}>
          Show recovery keys
        </button>
      ) : keys.length === 0 ? (
        <p class="quiet">No disk of this machine left a recovery key here.</p>
      ) : (
        keys.map(({ keyId, recoveryKey, encryptedKey, receivedAt }) => (
          <p key={keyId}>
            {recoveryKey === null && 'For the owner of the offline key: '}
            <code>{recoveryKey ?? encryptedKey}</code> <Ago at={receivedAt} />
          </p>
        ))
      )}
      {problem && <ProblemText problem={problem} />}
    </section>
  );
}
