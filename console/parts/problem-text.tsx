import { sentenceCase } from '../words/sentence-case.ts';
import { ErrorCode } from './error-code.tsx';

export interface ShownProblem {
  message: string;
  hint: string;
  code: string;
}

/** What a call was refused for, from whatever was thrown. */
export function shownProblem(thrown: unknown): ShownProblem {
  if (!(thrown instanceof Error)) return { message: 'Something went wrong.', hint: '', code: '' };
  const { hint = '', code = '' } = thrown as Error & { hint?: string; code?: string };
  return { message: thrown.message, hint, code };
}

/** A refusal where it happened: what, what to do, and its code. It stays until the next try. */
export function ProblemText({ problem }: { problem: ShownProblem }) {
  const { message, hint, code } = problem;
  return (
    <p class="problem" role="alert">
      <span aria-hidden="true">▲ </span>
      <strong>{sentenceCase(message)}</strong> {hint} <ErrorCode code={code} />
    </p>
  );
}
