import { useState } from 'preact/hooks';
import type { ProfileAnswer } from '../api/answers-of-site.ts';
import { may } from '../api/session.ts';
import { ListPage, Table } from '../parts/list-page.tsx';
import { navigate } from '../parts/route.ts';
import { useAnswer } from '../parts/use-answer.ts';
import { plainText } from '../words/plain-text.ts';
import { EMPTY_PROFILE, ProfileForm } from './profile-form.tsx';

/** Every profile, and the form for a new one. */
export function ProfilesScreen() {
  const [isNew, setNew] = useState(false);
  const { answer, problem } = useAnswer<{ profiles: ProfileAnswer[] }>('/api/v1/profiles');
  const profiles = answer?.profiles ?? [];
  return (
    <ListPage
      title="Profiles"
      lead="A profile says what is installed on a machine, and how."
      isLoaded={answer !== undefined}
      problem={problem}
    >
      {profiles.length === 0 && <p>There is no profile yet.</p>}
      {profiles.length > 0 && (
        <Table
          label="Profiles"
          headings={['Name', 'System', 'Image', 'Template']}
          rows={profiles.map(({ name, osType, imageUrl, template }) => ({
            key: name,
            cells: [
              <a key={name} href={`/profiles/${encodeURIComponent(name)}`}>
                {name}
              </a>,
              osType === 'MUTABLE' ? 'Mutable' : 'Immutable',
              plainText(imageUrl, 300),
              template ?? 'built in',
            ],
          }))}
        />
      )}
      {may('profiles:change') && !isNew && (
        <p>
          <button type="button" class="primary" onClick={() => setNew(true)}>
            New profile
          </button>
        </p>
      )}
      {isNew && (
        <ProfileForm
          profile={EMPTY_PROFILE}
          taken={profiles.map(({ name }) => name)}
          onSaved={(name) => navigate(`/profiles/${encodeURIComponent(name)}`)}
        />
      )}
    </ListPage>
  );
}
