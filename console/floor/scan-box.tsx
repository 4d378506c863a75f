import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { may } from '../api/session.ts';
import { ProblemText, type ShownProblem, shownProblem } from '../parts/problem-text.tsx';
import { navigate, route } from '../parts/route.ts';
import { nodeTitle, scannedText } from '../words/node-words.ts';
import { plainText } from '../words/plain-text.ts';
import { focusFirstRow, focusRow } from './row-focus.ts';
import { machineOf, typed } from './view.ts';

/** A label that no machine has: offered to be registered. */
const unknownLabel = signal<string | undefined>(undefined);
/** What the last scan led to, for those who do not see the screen. */
const said = signal('');

/**
 * Where a barcode scanner types, which is a keyboard that ends with Enter. It has the focus whenever nothing else needs it: a
 * letter typed anywhere on the page goes here.
 */
export function ScanBox() {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    box.current?.focus();
    const catchLetters = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1 || event.key === ' ')
        return;
      const { target } = event;
      const isTyping =
        target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, dialog');
      if (!isTyping) box.current?.focus();
    };
    addEventListener('keydown', catchLetters);
    return () => removeEventListener('keydown', catchLetters);
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    const label = scannedText(typed.peek());
    if (label === '') return;
    const node = machineOf(label);
    unknownLabel.value = node || isAmbiguous(label) ? undefined : label;
    said.value = node ? `Found ${nodeTitle(node)}` : `No single machine is called ${label}`;
    if (!node) return;
    const isThere = route.peek().screen === 'floor';
    if (!isThere) navigate(`/nodes/${encodeURIComponent(node.id)}`);
    typed.value = '';
    if (isThere) focusRow(node.id);
  };
  return (
    <search class="scan">
      <form onSubmit={submit}>
        <input
          ref={box}
          id="scan"
          type="search"
          aria-label="Scan a label, or search"
          placeholder="Scan or search"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
            unknownLabel.value = undefined;
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') {
              event.preventDefault();
              focusFirstRow();
            }
          }}
        />
        <span class="spoken" role="status">
          {said}
        </span>
        {unknownLabel.value !== undefined && <UnknownLabel label={unknownLabel.value} />}
      </form>
    </search>
  );
}

function isAmbiguous(label: string): boolean {
  return label.length < 4;
}

function UnknownLabel({ label }: { label: string }) {
  const [problem, setProblem] = useState<ShownProblem>();
  const register = async () => {
    try {
      const { id } = await call<{ id: string }>('POST', '/api/v1/nodes', {
        json: { ...identityIn(label), autoOnboard: true },
      });
      typed.value = '';
      unknownLabel.value = undefined;
      said.value = `Registered ${label}`;
      focusRow(id);
    } catch (thrown) {
      setProblem(shownProblem(thrown));
    }
  };
  return (
    <div class="unknown-label">
      <p>
        No machine is called <strong>{plainText(label, 64)}</strong>.
      </p>
      {may('nodes:install') && (
        <button type="button" class="primary" onClick={() => void register()}>
          Register it
        </button>
      )}
      {problem && <ProblemText problem={problem} />}
    </div>
  );
}

/** What a label says of a machine: a MAC, a UUID, or else its serial. */
function identityIn(label: string): { mac: string } | { uuid: string } | { serial: string } {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(label)) return { uuid: label.toLowerCase() };
  const bare = label.replaceAll(/[:-]/g, '').toLowerCase();
  if (/^[0-9a-f]{12}$/.test(bare) && /[:-]/.test(label)) return { mac: (bare.match(/../g) ?? []).join(':') };
  return { serial: label };
}
