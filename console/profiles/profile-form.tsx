import { useState } from 'preact/hooks';
import type { ProfileAnswer, TemplateAnswer } from '../api/answers-of-site.ts';
import { call } from '../api/call.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ChoiceField, TextField } from '../parts/fields.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { sentenceCase } from '../words/sentence-case.ts';

export const EMPTY_PROFILE: ProfileAnswer = {
  name: '',
  osType: 'MUTABLE',
  template: null,
  imageUrl: '',
  imageSha256: '',
  security: 'NONE',
  eraseMethod: 'auto',
  lvmSizeGb: 0,
  localAccount: null,
};

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;

interface ProfileFormProps {
  profile: ProfileAnswer;
  /** Names that a new profile cannot have; undefined: the profile keeps its name. */
  taken?: readonly string[];
  onSaved: (name: string) => void;
}

/** A profile to be filled in. What cannot work is said at its field before anything is saved. */
export function ProfileForm({ profile, taken, onSaved }: ProfileFormProps) {
  const [draft, setDraft] = useState(profile);
  const [missingImage, setMissingImage] = useState('');
  const { isBusy, problem, attempt } = useAttempts();
  const { answer } = useAnswer<{ templates: TemplateAnswer[] }>('/api/v1/templates');
  const change = (changes: Partial<ProfileAnswer>) => setDraft((now) => ({ ...now, ...changes }));
  const nameFault = taken === undefined ? '' : faultOfName(draft.name, taken);
  const save = (isForced: boolean) =>
    attempt(async () => {
      setMissingImage('');
      const image = isForced ? { isThere: true, detail: '' } : await lookForImage(draft.imageUrl);
      if (!image.isThere) return setMissingImage(image.detail);
      const { name, ...body } = draft;
      await call('PUT', `/api/v1/profiles/${encodeURIComponent(name)}`, { json: body });
      return onSaved(name);
    });
  return (
    <form
      class="form"
      aria-label={taken === undefined ? `Profile ${profile.name}` : 'New profile'}
      onSubmit={(event) => {
        event.preventDefault();
        if (nameFault === '' || draft.name === '') void save(false);
      }}
    >
      {taken !== undefined && (
        <TextField
          label="Name"
          value={draft.name}
          fault={draft.name === '' ? '' : nameFault}
          isRequired
          onChange={(name) => change({ name })}
        />
      )}
      <ChoiceField
        label="System"
        value={draft.osType}
        choices={[
          ['MUTABLE', 'Mutable, for example Ubuntu'],
          ['IMMUTABLE', 'Immutable, for example Edge Microvisor Toolkit'],
        ]}
        onChange={(osType) => change({ osType: osType === 'IMMUTABLE' ? 'IMMUTABLE' : 'MUTABLE' })}
      />
      <TextField
        label="Image"
        hint="An address: http://…, https://… or oci://…"
        value={draft.imageUrl}
        fault={missingImage && `The image does not answer: ${missingImage}.`}
        isRequired
        onChange={(imageUrl) => {
          setMissingImage('');
          change({ imageUrl });
        }}
      />
      <TextField
        label="SHA-256 of the image"
        hint="64 hexadecimal digits, or nothing"
        value={draft.imageSha256}
        fault={/^([0-9a-f]{64})?$/.test(draft.imageSha256) ? '' : 'It has 64 hexadecimal digits.'}
        onChange={(text) => change({ imageSha256: text.trim().toLowerCase() })}
      />
      <ChoiceField
        label="Template"
        value={draft.template ?? ''}
        choices={[
          ['', 'The built-in one for this system'],
          ...(answer?.templates ?? []).map(({ name }) => [name, name] as const),
        ]}
        onChange={(name) => change({ template: name === '' ? null : name })}
      />
      <ChoiceField
        label="Security"
        value={draft.security}
        choices={[
          ['NONE', 'None: Secure Boot off'],
          ['SECURE_BOOT_AND_FULL_DISK_ENCRYPTION', 'Secure Boot and full disk encryption'],
          ['UNSPECIFIED', 'Secure Boot, no encryption'],
        ]}
        onChange={(security) => change({ security })}
      />
      {problem && <ProblemText problem={problem} />}
      <div class="choices">
        <button type="submit" class="primary" disabled={isBusy || draft.imageUrl === '' || nameFault !== ''}>
          {isBusy ? 'Asking for the image…' : 'Save'}
        </button>
        {missingImage !== '' && (
          <button type="button" disabled={isBusy} onClick={() => void save(true)}>
            Save all the same
          </button>
        )}
      </div>
    </form>
  );
}

function faultOfName(name: string, taken: readonly string[]): string {
  if (taken.includes(name)) return sentenceCase(`there is a profile ${name} already.`);
  return NAME.test(name) ? '' : 'Letters, digits, dots, dashes and underscores.';
}

function lookForImage(url: string): Promise<{ isThere: boolean; detail: string }> {
  return call('POST', '/api/v1/images/check', { json: { url } });
}
