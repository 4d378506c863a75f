import { session } from './api/session.ts';
import { AuditScreen } from './audit/audit-screen.tsx';
import { FilesScreen } from './files/files-screen.tsx';
import { FloorScreen } from './floor/floor-screen.tsx';
import { OpenQuestion } from './floor/question.tsx';
import { ImportScreen } from './import/import-screen.tsx';
import { OneImportScreen } from './import/one-import-screen.tsx';
import { NodeScreen } from './node/node-screen.tsx';
import { route } from './parts/route.ts';
import { PeopleScreen } from './people/people-screen.tsx';
import { OneProfileScreen } from './profiles/one-profile-screen.tsx';
import { ProfilesScreen } from './profiles/profiles-screen.tsx';
import { Header } from './shell/header.tsx';
import { Help } from './shell/help.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { SiteScreen } from './site/site-screen.tsx';
import { OneTemplateScreen } from './templates/one-template-screen.tsx';
import { TemplatesScreen } from './templates/templates-screen.tsx';

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
  switch (to.screen) {
    case 'floor':
      return <FloorScreen />;
    case 'node':
      return <NodeScreen id={to.id} />;
    case 'import':
      return to.id ? <OneImportScreen key={to.id} id={to.id} /> : <ImportScreen />;
    case 'profiles':
      return to.id ? <OneProfileScreen key={to.id} name={to.id} /> : <ProfilesScreen />;
    case 'templates':
      return to.id ? <OneTemplateScreen key={to.id} name={to.id} /> : <TemplatesScreen />;
    case 'site':
      return <SiteScreen />;
    case 'files':
      return <FilesScreen />;
    case 'people':
      return <PeopleScreen />;
    case 'audit':
      return <AuditScreen />;
  }
}
