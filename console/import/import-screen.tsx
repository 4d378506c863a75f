import type { ImportSummary } from '../../protocol/imports.ts';
import { may } from '../api/session.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { Ago } from '../parts/since.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { importSentence } from '../words/import-words.ts';
import { plainText } from '../words/plain-text.ts';
import { DropZone } from './drop-zone.tsx';

/** Where a list of machines comes in, and the lists that came in before. */
export function ImportScreen() {
  const { answer, problem } = useAnswer<{ imports: ImportSummary[] }>('/api/v1/imports');
  const imports = answer?.imports ?? [];
  return (
    <main class="page">
      <h1>Import machines</h1>
      <p class="lead">
        A CSV file with a row per machine. You see what would become of every row before anything changes.
        Columns: Serial, UUID or MAC, then Name, OSProfile, Site, Metadata. Files of EMF are taken as they
        are.
      </p>
      {may('nodes:install') && <DropZone />}
      {problem && <ProblemText problem={problem} />}
      {imports.length > 0 && (
        <section aria-labelledby="earlier">
          <h2 id="earlier">Earlier lists</h2>
          <ul class="cards">
            {imports.map((each) => (
              <li key={each.id}>
                <a href={`/import/${each.id}`}>{plainText(each.file, 80)}</a>
                <span>{importSentence(each)}</span>
                <span class="quiet-text">
                  <Ago at={each.createdAt} /> · {plainText(each.createdBy, 40)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </main>
  );
}
