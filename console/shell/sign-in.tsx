import { useState } from 'preact/hooks';
import { keepToken } from '../api/session.ts';
import { enter } from './enter.ts';

/** Asks for the token. It is kept in this tab and sent to this server only. */
export function SignIn({ why }: { why: string }) {
  const [token, setToken] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() === '') return;
    keepToken(token);
    void enter();
  };
  return (
    <main class="sign-in">
      <h1>
        <img src="/console/icon.svg" alt="" width="48" height="48" /> Kindling
      </h1>
      <form onSubmit={submit}>
        <label class="field">
          Token
          <input
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        {why !== '' && (
          <p class="problem" role="alert">
            ▲ {why}
          </p>
        )}
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p>
        Yours comes from <code>kindling token create</code>. The first one is in the file{' '}
        <code>operator-token</code> of the state folder, and in the link that <code>kindling serve</code>{' '}
        prints.
      </p>
    </main>
  );
}
