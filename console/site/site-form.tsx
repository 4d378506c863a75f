import { useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';
import { sentenceCase } from '../words/sentence-case.ts';

/** What the document of the API says of one setting. */
export interface SettingSchema {
  type?: string;
  enum?: string[];
  anyOf?: SettingSchema[];
  description?: string;
  minimum?: number;
  maximum?: number;
}

interface SiteFormProps {
  settings: Record<string, unknown>;
  schemas: Record<string, SettingSchema>;
  isReadOnly: boolean;
  onSaved: () => void;
}

/** Every setting, with what it means. Only those that were touched are sent. */
export function SiteForm({ settings, schemas, isReadOnly, onSaved }: SiteFormProps) {
  const [changes, setChanges] = useState<Record<string, unknown>>({});
  const { isBusy, problem, attempt } = useAttempts();
  const save = () =>
    attempt(async () => {
      await call('PATCH', '/api/v1/site', { json: changes });
      onSaved();
    });
  const count = Object.keys(changes).length;
  return (
    <form
      class="form"
      aria-label="Settings of the site"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {Object.entries(schemas).map(([name, schema]) => (
        <Setting
          key={name}
          name={name}
          schema={schema}
          value={changes[name] === undefined ? settings[name] : changes[name]}
          isReadOnly={isReadOnly}
          onChange={(value) => setChanges((now) => ({ ...now, [name]: value }))}
        />
      ))}
      {problem && <ProblemText problem={problem} />}
      {!isReadOnly && (
        <div class="choices">
          <button type="submit" class="primary" disabled={isBusy || count === 0}>
            {count === 0 ? 'Nothing to save' : `Save ${many(count, 'change')}`}
          </button>
        </div>
      )}
    </form>
  );
}

interface SettingProps {
  name: string;
  schema: SettingSchema;
  value: unknown;
  isReadOnly: boolean;
  onChange: (value: unknown) => void;
}

function Setting(props: SettingProps) {
  const { name, schema } = props;
  return (
    <div class="field setting">
      <label htmlFor={`setting-${name}`}>{spaced(name)}</label>
      <Control {...props} />
      <span id={`about-${name}`} class="hint">
        {sentenceCase(schema.description ?? '')}
      </span>
    </div>
  );
}

function Control({ name, schema, value, isReadOnly, onChange }: SettingProps) {
  const type = schema.type ?? schema.anyOf?.find((each) => each.type !== 'null')?.type;
  const common = { id: `setting-${name}`, disabled: isReadOnly, 'aria-describedby': `about-${name}` };
  const text = value === null || value === undefined ? '' : String(value);
  if (schema.enum)
    return (
      <select {...common} value={text} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {schema.enum.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    );
  switch (type) {
    case 'boolean':
      return (
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'integer':
      return (
        <input
          {...common}
          type="number"
          min={schema.minimum ?? 0}
          max={schema.maximum ?? Number.MAX_SAFE_INTEGER}
          value={text}
          onInput={({ currentTarget }) => onChange(Number(currentTarget.value))}
        />
      );
    case 'string':
      return (
        <input
          {...common}
          type="text"
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => onChange(textOrNone(currentTarget.value, schema))}
        />
      );
    default:
      // Rules and lists have commands of their own; here they are read.
      return <output id={common.id}>{plainText(JSON.stringify(value ?? null), 400)}</output>;
  }
}

/** An empty text means "none" where the setting may have none. */
function textOrNone(text: string, { anyOf }: SettingSchema): string | null {
  return text === '' && anyOf?.some(({ type }) => type === 'null') ? null : text;
}

/** "firstBootMinutes" as people read it: "First boot minutes". */
function spaced(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, (_all, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
