import type { View } from '../../../agent/console/view.ts';

/** A view that remembers what it was told. */
export function recordingView() {
  const lines: string[] = [];
  const notices: string[] = [];
  const reached: string[] = [];
  const waits = new Set<string>();
  const view: View = {
    line: (stage, text) => void lines.push(`${stage}: ${text}`),
    reached: (stage) => void reached.push(stage),
    notice(stage, problem) {
      notices.push(problem.code);
      lines.push(`${stage}: ${problem.code}: ${problem.message}`);
    },
    waiting(_stage, what) {
      waits.add(what);
      return () => void waits.delete(what);
    },
    waits: () => [...waits].map((what) => ({ what, seconds: 0 })),
  };
  return { view, lines, notices, reached, waits };
}
