import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { plainText } from '../words/plain-text.ts';

interface TemplateFormProps {
  /** Empty: it cannot be saved yet. */
  name: string;
  text: string;
  onSaved: () => void;
}

/** The text of a template, typed or from a file. The server checks it before it is saved. */
export function TemplateForm({ name, text, onSaved }: TemplateFormProps) {
  const [draft, setDraft] = useState(text);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const { isBusy, problem, attempt } = useAttempts();
  const save = () =>
    attempt(async () => {
      const saved = await call<{ warnings: string[] }>(
        'PUT',
        `/api/v1/templates/${encodeURIComponent(name)}`,
        {
          json: { text: draft },
        },
      );
      setWarnings(saved.warnings);
      onSaved();
    });
  return (
    <form
      class="form"
      aria-label="Text of the template"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label class="field">
        Text, in YAML
        <textarea
          rows={16}
          spellcheck={false}
          value={draft}
          onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        />
      </label>
      {problem && <ProblemText problem={problem} />}
      {warnings.map((warning) => (
        <p key={warning}>● {plainText(warning, 300)}</p>
      ))}
      <div class="choices">
        <button type="submit" class="primary" disabled={isBusy || name === '' || draft.trim() === ''}>
          Check and save
        </button>
        <label class="button">
          Take it from a file
          <input
            type="file"
            class="spoken"
            accept=".yaml,.yml,text/yaml"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file) void attempt(async () => setDraft(await file.text()));
            }}
          />
        </label>
      </div>
    </form>
  );
}
