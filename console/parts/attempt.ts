import { useState } from 'preact/hooks';
import { type ShownProblem, shownProblem } from './problem-text.tsx';

interface Attempts {
  isBusy: boolean;
  problem: ShownProblem | undefined;
  /** Does it, and keeps what it was refused for until the next try. */
  attempt: (work: () => Promise<unknown>) => Promise<void>;
}

/** One thing at a time that the server may refuse. */
export function useAttempts(): Attempts {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ShownProblem>();
  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (thrown) {
      setProblem(shownProblem(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, attempt };
}
