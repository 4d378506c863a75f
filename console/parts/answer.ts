import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { type ShownProblem, shownProblem } from './problem-text.tsx';

type Answer<T> =
  | { kind: 'waiting' }
  | { kind: 'here'; value: T }
  | { kind: 'refused'; problem: ShownProblem };

/** What the server answers to one question, asked anew when the question or its version changes. */
export function useAnswer<T>(path: string, version = ''): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ kind: 'waiting' });
  useEffect(() => {
    const asking = new AbortController();
    call<T>('GET', path, { signal: asking.signal }).then(
      (value) => setAnswer({ kind: 'here', value }),
      (thrown: unknown) => {
        if (!asking.signal.aborted) setAnswer({ kind: 'refused', problem: shownProblem(thrown) });
      },
    );
    return () => asking.abort();
  }, [path, version]);
  return answer;
}
