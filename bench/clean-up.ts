const pending = new Set<() => void>();
let isWatched = false;

/** What is to be undone even if the benchmark is stopped by a signal. Answers how to say that it has been undone. */
export function cleanUpAtExit(undo: () => void): () => void {
  if (!isWatched) process.once('exit', undoAll);
  isWatched = true;
  pending.add(undo);
  return () => pending.delete(undo);
}

/** Makes Ctrl-C and SIGTERM an exit, so that what is pending is undone. */
export function exitOnSignals(): void {
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
}

/** The last made goes first, and one that fails does not keep the others. */
function undoAll(): void {
  for (const undo of [...pending].reverse()) {
    try {
      undo();
    } catch (thrown) {
      console.error(String(thrown));
    }
  }
  pending.clear();
}
