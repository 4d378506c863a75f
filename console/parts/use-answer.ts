import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { type ShownProblem, shownProblem } from './problem-text.tsx';

interface Asked<T> {
  answer: T | undefined;
  problem: ShownProblem | undefined;
  /** Asks again, after a change. */
  again: () => void;
}

/** What the server answers to a GET. An answer that nobody waits for any more is dropped. */
export function useAnswer<T>(path: string): Asked<T> {
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState<ShownProblem>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const asking = new AbortController();
    call<T>('GET', path, { signal: asking.signal }).then(
      (said) => {
        setAnswer(said);
        setProblem(undefined);
      },
      (thrown: unknown) => {
        if (!asking.signal.aborted) setProblem(shownProblem(thrown));
      },
    );
    return () => asking.abort();
  }, [path, round]);
  return { answer, problem, again: () => setRound((now) => now + 1) };
}
