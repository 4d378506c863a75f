import type { PersonAnswer } from '../api/answers-of-site.ts';
import { ListPage, Table } from '../parts/list-page.tsx';
import { Ago } from '../parts/since.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { plainText } from '../words/plain-text.ts';

/** Who may do what here. People are added and removed with `kindling user`. */
export function PeopleScreen() {
  const { answer, problem } = useAnswer<{ users: PersonAnswer[] }>('/api/v1/users');
  const users = answer?.users ?? [];
  return (
    <ListPage
      title="People"
      lead="Who may do what at this site. kindling user adds, disables and removes people."
      isLoaded={answer !== undefined}
      problem={problem}
    >
      {users.length === 0 && <p>Only the first admin, whose token is in the state folder, may come in.</p>}
      {users.length > 0 && (
        <Table
          label="People"
          headings={['Name', 'Role', 'May sign in', 'Tokens', 'Since']}
          rows={users.map(({ name, role, isDisabled, tokens, createdAt }) => ({
            key: name,
            cells: [
              plainText(name, 80),
              role,
              isDisabled ? '✕ disabled' : '✓ yes',
              String(tokens),
              <Ago key="since" at={createdAt} />,
            ],
          }))}
        />
      )}
    </ListPage>
  );
}
