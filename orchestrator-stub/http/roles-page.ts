import { markdownTable } from '../../formats/markdown-table.ts';
import { ROLES } from '../../protocol/people.ts';
import { hasRight, RIGHTS, type Right, rightOf } from '../people/rights.ts';
import { type SiteServerParts, siteRoutes } from './site-server.ts';

/** docs/reference/roles.md. Throws when a route that asks for a person has no row, or a row has no route. */
export function rolesPage(): string {
  refuseGaps();
  const rows = Object.entries(RIGHTS).map(([name, row]) => [
    `\`${name}\``,
    row.meaning,
    ...ROLES.map((role) => (hasRight(role, name as Right) ? 'yes' : '')),
  ]);
  const sections = Object.entries(RIGHTS).map(([name, row]) => {
    const opens = [...row.routes.map((route) => `\`${route}\``), ...('also' in row ? [row.also] : [])];
    return `### ${name}\n\n${opens.map((each) => `- ${each}`).join('\n')}\n`;
  });
  return `# Roles and rights

Every person has one role. This page is made from \`orchestrator-stub/people/rights.ts\`, the table that the
server itself asks; a test calls every route with every role.
[People and roles](../how-to/people-and-roles.md) says how to add somebody.

${markdownTable(['right', 'what it allows', ...ROLES], rows)}

The owner of the state folder (the token in \`operator-token\`, shown as \`operator\`) is an admin whom nobody can
remove. A site without TLS asks nobody on the same machine: a caller without a name acts as the owner there.

## What each right opens

${sections.join('\n')}`;
}

function refuseGaps(): void {
  // The routes are only looked at, so they need none of their parts.
  const { api, raw } = siteRoutes({} as SiteServerParts);
  const personal = [...api, ...raw].filter(({ access }) => access === 'person');
  const names = personal.map(({ method, path }) => `${method} ${path}`);
  const missing = personal.filter((route) => !rightOf(route)).map(({ method, path }) => `${method} ${path}`);
  const gone = Object.values(RIGHTS)
    .flatMap(({ routes }): readonly string[] => routes)
    .filter((route) => !names.includes(route));
  if (missing.length > 0 || gone.length > 0) {
    throw new Error(
      `orchestrator-stub/people/rights.ts has no row for ${missing.join(', ') || 'nothing new'}; gone: ${gone.join(', ') || 'none'}`,
    );
  }
}
