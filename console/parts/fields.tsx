import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
}

/** A line of text. What is wrong with it is said below, and read out with it. */
export function TextField(props: FieldProps & { fault?: string; isRequired?: boolean }) {
  const { label, hint = '', value, fault = '', isRequired = false, onChange } = props;
  const about = useId();
  return (
    <div class={fault === '' ? 'field' : 'field has-fault'}>
      <label>
        <span>{label}</span>
        <input
          type="text"
          value={value}
          required={isRequired}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault !== ''}
          aria-describedby={about}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      </label>
      <span id={about} class={fault === '' ? 'hint' : 'problem'}>
        {fault === '' ? hint : `▲ ${fault}`}
      </span>
    </div>
  );
}

/** One of a few. */
export function ChoiceField(
  props: FieldProps & { choices: readonly (readonly [value: string, label: string])[] },
) {
  const { label, hint = '', value, choices, onChange } = props;
  return (
    <div class="field">
      <label>
        <span>{label}</span>
        <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {choices.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {hint !== '' && <span class="hint">{hint}</span>}
    </div>
  );
}
