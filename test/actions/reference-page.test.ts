import { expect, it } from 'vitest';
import { CATALOG } from '../../actions/catalog.ts';
import { actionHelp, referencePage } from '../../actions/contract/help.ts';

it('docs/reference/actions.md says what the actions are (run this test with -u to write it anew)', async () => {
  await expect(referencePage(CATALOG)).toMatchFileSnapshot('../../docs/reference/actions.md');
});

it('the help of every action names its variables', () => {
  for (const action of CATALOG) {
    const help = actionHelp(action);
    for (const name of Object.keys(action.parameters)) expect(help).toContain(`  ${name} (`);
  }
});
