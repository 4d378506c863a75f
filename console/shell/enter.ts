import { call, Problem } from '../api/call.ts';
import { type Me, session, signOut } from '../api/session.ts';
import { followFloor } from '../live/follow-floor.ts';

const AGAIN_MS = 2000;
let following: AbortController | undefined;

/** Asks who we are, and lets the floor follow the server from then on. A server that does not answer is asked again. */
export async function enter(): Promise<void> {
  following?.abort();
  try {
    session.value = { kind: 'signed-in', me: await call<Me>('GET', '/api/v1/me') };
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.status >= 400 && thrown.status < 500) {
      signOut(thrown.status === 401 ? currentReason() : thrown.message);
      return;
    }
    setTimeout(() => void enter(), AGAIN_MS);
    return;
  }
  following = new AbortController();
  await followFloor(following.signal);
}

function currentReason(): string {
  const { value } = session;
  return value.kind === 'signed-out' ? value.why : '';
}
