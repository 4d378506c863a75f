import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { FloorNode } from '../../protocol/floor.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ACTIONS, type ActionName } from '../words/action-table.ts';
import { many } from '../words/amounts.ts';
import { lastSix, nodeTitle } from '../words/node-words.ts';
import { plainText } from '../words/plain-text.ts';
import { ask } from './pending.ts';

/** An action that needs an answer first: which profile, or "yes, these disks". */
interface Question {
  action: ActionName;
  nodes: readonly FloorNode[];
}

const question = signal<Question | undefined>(undefined);

const NEEDS_ANSWER: ReadonlySet<ActionName> = new Set([
  'approve',
  'provision',
  'reprovision',
  'register',
  'deauthorize',
  'delete',
]);

const CONSEQUENCES: Partial<Record<ActionName, string>> = {
  reprovision: 'Everything on the disk is lost as soon as the machine boots from the network.',
  deauthorize: 'Credentials and tokens stop working at once. The machine has to be registered again.',
  delete: 'The record, its history and its logs are gone, and its credentials stop working.',
  approve: 'What the plan names is destroyed and cannot be brought back.',
};

const ANSWERS: Partial<Record<ActionName, string>> = {
  approve: 'Approve plan',
  provision: 'Install',
  reprovision: 'Wipe and install',
  register: 'Accept',
  deauthorize: 'Deauthorize',
  delete: 'Delete',
};

/** Does it at once, or asks first. */
export function begin(action: ActionName, nodes: readonly FloorNode[]): void {
  if (NEEDS_ANSWER.has(action)) question.value = { action, nodes };
  else void ask(action, nodes);
}

/** The question that is open, if one is. */
export function OpenQuestion() {
  const { value } = question;
  if (!value) return null;
  return <QuestionDialog key={value.action} {...value} />;
}

function QuestionDialog({ action, nodes }: Question) {
  const [profile, setProfile] = useState(nodes[0]?.profile ?? '');
  const [typed, setTyped] = useState('');
  const close = () => {
    question.value = undefined;
  };
  const wantsProfile = action === 'provision' || action === 'reprovision' || action === 'register';
  // One machine is on the screen; of many, one label has to be read.
  const proof = ACTIONS[action].isDestructive && nodes.length > 1 ? lastFour(nodes[0]) : undefined;
  const isReady =
    (action !== 'provision' || profile !== '') &&
    (proof === undefined || typed.trim().toUpperCase() === proof);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    close();
    void ask(action, nodes, profile === '' ? {} : { profile });
  };
  return (
    <Dialog title={titleOf(action, nodes)} onClose={close}>
      <form onSubmit={submit}>
        {CONSEQUENCES[action] && <p class="consequence">{CONSEQUENCES[action]}</p>}
        {action === 'approve' && nodes.map((node) => <Plan key={node.id} node={node} />)}
        {nodes.length > 1 && (
          <ul class="machines">
            {nodes.map((node) => (
              <li key={node.id}>{nodeTitle(node)}</li>
            ))}
          </ul>
        )}
        {wantsProfile && (
          <ProfileField chosen={profile} onChoose={setProfile} isOptional={action !== 'provision'} />
        )}
        {proof !== undefined && (
          <label class="field">
            Type the last four of the serial of {nodes[0] ? nodeTitle(nodes[0]) : ''}
            <input
              value={typed}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          </label>
        )}
        <div class="choices">
          <button
            type="submit"
            class={ACTIONS[action].isDestructive ? 'destructive' : 'primary'}
            disabled={!isReady}
          >
            {ANSWERS[action] ?? ACTIONS[action].label}
          </button>
          <button type="button" onClick={close}>
            Leave it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What would be destroyed, in the words of the node. */
function Plan({ node }: { node: FloorNode }) {
  return <p class="plan">{plainText(node.reason?.message ?? node.statusText)}</p>;
}

interface ProfileFieldProps {
  chosen: string;
  onChoose: (name: string) => void;
  isOptional: boolean;
}

function ProfileField({ chosen, onChoose, isOptional }: ProfileFieldProps) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    call<{ profiles: { name: string }[] }>('GET', '/api/v1/profiles').then(
      ({ profiles }) => setNames(profiles.map(({ name }) => name)),
      () => setNames([]),
    );
  }, []);
  return (
    <label class="field">
      Profile
      <select value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">{isOptional ? 'As it is, or the site’s default' : 'Choose one'}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function titleOf(action: ActionName, nodes: readonly FloorNode[]): string {
  const [first] = nodes;
  const whom = nodes.length === 1 && first ? nodeTitle(first) : many(nodes.length, 'machine');
  return action === 'provision'
    ? `A profile for ${whom}`
    : `${ANSWERS[action] ?? ACTIONS[action].label}: ${whom}`;
}

function lastFour(node: FloorNode | undefined): string {
  return node ? lastSix(node).slice(-4) : '';
}
