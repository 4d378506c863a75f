const UPDATES = ['-u', '--update'];

/**
 * Vitest takes the word after -u for its value: `-u test/x.test.ts` would run every test and rewrite every snapshot.
 * So -u goes last, wherever it was typed.
 */
export function pathsBeforeUpdate(args: readonly string[]): string[] {
  const others = args.filter((arg) => !UPDATES.includes(arg));
  return others.length === args.length ? others : [...others, '-u'];
}
