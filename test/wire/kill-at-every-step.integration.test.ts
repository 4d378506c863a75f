import { expect, it } from 'vitest';
import { EmfSite } from './reference/emf-site.ts';
import { Killer } from './reference/killer.ts';

const ACTIONS = ['first', 'second', 'reboot'];
const REPORTED = ACTIONS.flatMap((name) => [`${name} RUNNING`, `${name} SUCCESS`]);

/** How often a step may come up does not matter: every kind of call was hit before it was handled, and lost its reply. */
function expectKilledAt(killer: Killer, calls: string[]): void {
  for (const call of calls) {
    for (const when of ['before', 'reply lost']) {
      expect(killer.killedAt, call).toContainEqual(
        expect.stringMatching(new RegExp(`^${call} at .*, ${when}$`)),
      );
    }
  }
}

it('a site of EMF whose server dies at every single step, and loses every reply once: each action runs once, the workflow completes', async () => {
  let site: EmfSite | undefined;
  const killer = new Killer(() => new Set(site?.tink.accepted).size);
  site = await EmfSite.start({ actions: ACTIONS, host: { interceptors: [killer.interceptor] } });
  try {
    killer.host = site.host;
    const agent = site.startAgent();
    await agent.ended;
    expect(agent.executed).toEqual(ACTIONS);
    expect([...new Set(site.tink.accepted)]).toEqual(REPORTED);
    expect(agent.handedOver).toEqual([{ kind: 'reboot' }]);
    expectKilledAt(killer, [
      'OnboardNodeStream',
      'GetWorkflowContexts',
      'GetWorkflowActions',
      'ReportActionStatus',
    ]);
  } finally {
    await site.stop();
  }
});

it('the same with today’s Tinkerbell', async () => {
  let site: Awaited<ReturnType<typeof EmfSite.startCurrent>> | undefined;
  const killer = new Killer(() => new Set(site?.tink.accepted).size);
  site = await EmfSite.startCurrent({ actions: ACTIONS, host: { interceptors: [killer.interceptor] } });
  try {
    killer.host = site.host;
    const agent = site.startAgent();
    await agent.ended;
    expect(agent.executed).toEqual(ACTIONS);
    expect([...new Set(site.tink.accepted)]).toEqual(REPORTED);
    expectKilledAt(killer, ['OnboardNodeStream', 'GetAction', 'ReportActionStatus']);
  } finally {
    await site.stop();
  }
});
