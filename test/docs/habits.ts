import type { Repository } from '../repository.ts';

/** Habits of ours that readers stumble over, and what to write instead. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/gi, 'name the actor: the caller, the node, a person who'],
  [/\bso (?:much|many)\b(?! (?:that|as)\b)/gi, 'this many, a limit of, the size of'],
  [/[\u00ab\u00bb]/g, 'English quotation marks'],
  [/\b(?:that|which) (?:is|are) none\b/gi, 'an invalid one, not one of'],
];

/** Every place with one of the habits, as "file:line words (what instead)". */
export function habits(repository: Repository, files: readonly string[]): string[] {
  return files.flatMap((file) =>
    repository
      .read(file)
      .split('\n')
      .flatMap((line, index) =>
        HABITS.flatMap(([habit, instead]) =>
          [...line.matchAll(habit)].map(([words]) => `${file}:${index + 1} ${words} (${instead})`),
        ),
      ),
  );
}
