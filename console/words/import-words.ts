import type { ImportSummary, RowOutcome, RowVerdict } from '../../protocol/imports.ts';
import { many } from './amounts.ts';

interface RowWords {
  shape: string;
  word: string;
}

export const VERDICTS: Readonly<Record<RowVerdict, RowWords>> = {
  bad: { shape: '▲', word: 'Bad' },
  changed: { shape: '●', word: 'Changes' },
  new: { shape: '○', word: 'New' },
  same: { shape: '✓', word: 'No change' },
};

export const OUTCOMES: Readonly<Record<RowOutcome, RowWords>> = {
  failed: { shape: '▲', word: 'Failed' },
  changed: { shape: '●', word: 'Changed' },
  registered: { shape: '✓', word: 'Registered' },
  unchanged: { shape: '✓', word: 'No change' },
  undone: { shape: '○', word: 'Undone' },
};

/** What an import is at, in one sentence. */
export function importSentence(summary: ImportSummary): string {
  const { state, wanted, done, outcomes, verdicts } = summary;
  switch (state) {
    case 'checked':
      return verdicts.bad > 0
        ? `${many(verdicts.bad, 'row')} cannot be imported. Nothing has changed yet.`
        : 'Every row can be imported. Nothing has changed yet.';
    case 'running':
      return `${done} of ${many(wanted, 'row')} imported.`;
    case 'done': {
      const parts = [
        `${outcomes.registered} registered`,
        `${outcomes.changed} changed`,
        `${outcomes.unchanged} without a change`,
        ...(outcomes.failed > 0 ? [`${outcomes.failed} failed`] : []),
        ...(verdicts.bad > 0 ? [`${verdicts.bad} left out`] : []),
      ];
      return `Imported: ${parts.join(', ')}.`;
    }
    case 'undone':
      return 'Undone: everything is as it was before the import.';
  }
}
