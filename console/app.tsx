import { session } from './api/session.ts';
import { FloorScreen } from './floor/floor-screen.tsx';
import { OpenQuestion } from './floor/question.tsx';
import { NodeScreen } from './node/node-screen.tsx';
import { route } from './parts/route.ts';
import { Header } from './shell/header.tsx';
import { Help } from './shell/help.tsx';
import { SignIn } from './shell/sign-in.tsx';

/** The frame around every screen. */
export function App() {
  const now = session.value;
  if (now.kind === 'unknown') return <p class="wait">Asking the server who you are…</p>;
  if (now.kind === 'signed-out') return <SignIn why={now.why} />;
  return (
    <>
      <Header />
      <Screen />
      <OpenQuestion />
      <Help />
    </>
  );
}

function Screen() {
  const to = route.value;
  return to.screen === 'node' ? <NodeScreen id={to.id} /> : <FloorScreen />;
}
