import { expect, it } from 'vitest';
import { REFERENCE_PAGES } from '../../setup/reference-pages.ts';

it.each(Object.entries(REFERENCE_PAGES))(
  'docs/reference/%s says what the code says (node setup/reference-pages.ts writes it anew)',
  async (file, page) => {
    await expect(page()).toMatchFileSnapshot(`../../docs/reference/${file}`);
  },
);
