import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { may } from '../api/session.ts';

interface Checks {
  profiles: number;
  defaultProfile: string | null;
}

/** A floor without a machine is a list of what is still to do, with what is done already ticked. */
export function EmptyFloor() {
  const [checks, setChecks] = useState<Checks>();
  const look = () => {
    check().then(setChecks, () => setChecks(undefined));
  };
  useEffect(look, []);
  const hasProfile = checks !== undefined && checks.profiles > 0;
  const hasDefault = checks?.defaultProfile != null;
  return (
    <section class="empty" aria-labelledby="empty-title">
      <h2 id="empty-title">No machine yet. Three steps to the first one:</h2>
      <ol>
        <Step isDone={hasProfile} title="A profile says what is installed">
          <code>kindling profile add edge --image URL --default</code>
        </Step>
        <Step isDone={hasDefault} title="A default profile saves choosing one for each machine">
          {hasDefault ? `It is ${checks?.defaultProfile}.` : <code>kindling profile default edge</code>}
        </Step>
        <Step isDone={false} title="The first machine">
          Scan the serial number of its label into the box above, connect it, and boot it from the network. A
          machine that nobody registered shows itself here, too.
        </Step>
      </ol>
      {may('profiles:read') && (
        <button type="button" onClick={look}>
          Check again
        </button>
      )}
    </section>
  );
}

interface StepProps {
  isDone: boolean;
  title: string;
  children: ComponentChildren;
}

function Step({ isDone, title, children }: StepProps) {
  return (
    <li class={isDone ? 'is-done' : ''}>
      <strong>
        <span aria-hidden="true">{isDone ? '✓' : '○'} </span>
        <span class="spoken">{isDone ? 'Done: ' : 'To do: '}</span>
        {title}
      </strong>
      <p>{children}</p>
    </li>
  );
}

async function check(): Promise<Checks> {
  const [{ profiles }, { defaultProfile }] = await Promise.all([
    call<{ profiles: unknown[] }>('GET', '/api/v1/profiles'),
    call<{ defaultProfile?: string | null }>('GET', '/api/v1/site'),
  ]);
  return { profiles: profiles.length, defaultProfile: defaultProfile ?? null };
}
