import { useState } from 'preact/hooks';
import type { ProfileAnswer } from '../api/answers-of-site.ts';
import { call } from '../api/call.ts';
import { may } from '../api/session.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { navigate } from '../parts/route.ts';
import { useAnswer } from '../parts/use-answer.ts';
import { plainText } from '../words/plain-text.ts';
import { ProfileForm } from './profile-form.tsx';

/** One profile: its form for those who may change it, its facts for the others. */
export function OneProfileScreen({ name }: { name: string }) {
  const path = `/api/v1/profiles/${encodeURIComponent(name)}`;
  const { answer: profile, problem } = useAnswer<ProfileAnswer>(path);
  const [isSaved, setSaved] = useState(false);
  const removal = useAttempts();
  const remove = () =>
    removal.attempt(async () => {
      await call('DELETE', path);
      navigate('/profiles');
    });
  return (
    <main class="page">
      <p class="back">
        <a href="/profiles">← All profiles</a>
      </p>
      <h1>{plainText(name, 120)}</h1>
      {problem && <ProblemText problem={problem} />}
      {profile &&
        (may('profiles:change') ? (
          <>
            <ProfileForm profile={profile} onSaved={() => setSaved(true)} />
            <p role="status">{isSaved ? '✓ Saved. Machines that have it already keep their system.' : ''}</p>
            <button type="button" class="destructive" disabled={removal.isBusy} onClick={() => void remove()}>
              Delete this profile
            </button>
            {removal.problem && <ProblemText problem={removal.problem} />}
          </>
        ) : (
          <dl class="facts">
            <Fact name="System" value={profile.osType} />
            <Fact name="Image" value={plainText(profile.imageUrl, 500)} />
            <Fact name="Template" value={profile.template ?? 'built in'} />
            <Fact name="Security" value={profile.security} />
          </dl>
        ))}
    </main>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
