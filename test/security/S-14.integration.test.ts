import { describe, expect, it } from 'vitest';
import { AttackedSite, HONEST, OTHER } from './attacked-site.ts';

describe.each([false, true])('--strict %s', (isStrict) => {
  it('one wrong serial, or one wrong UUID, locks nobody out', async () => {
    await using site = await AttackedSite.start({ isStrict });
    const { uuid, serialnum } = HONEST;
    await site.register({ uuid, serial: serialnum, autoOnboard: true });
    const wrong = [{ serialnum: 'WRONG1234' }, { uuid: OTHER.uuid }];
    for (const knock of wrong) expect((await site.running.knock(knock)).status?.code).toBe(5);
    const let_in = await site.running.knock();
    expect(let_in.status?.code, 'before its first knock').toBe(0);
    expect(let_in.clientSecret).not.toBe('');
    const before = await site.node(uuid);
    for (const knock of wrong) expect((await site.running.knock(knock)).status?.code).toBe(5);
    expect(await site.node(uuid), 'while it is being installed').toEqual(before);
    // EMF lets a node in once; outside --strict it may ask again.
    expect((await site.running.knock()).status?.code).toBe(isStrict ? 9 : 0);
    expect(await site.running.accessToken(let_in)).toBeTypeOf('string');
  });
});
