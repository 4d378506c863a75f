import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { disk } from '../actions/disks/disk-fixture.ts';
import { until } from './reference/agents.ts';
import { EmfSite } from './reference/emf-site.ts';
import type { Keycloak } from './reference/keycloak.ts';
import { type OnboardingManager, rows } from './reference/onboarding-manager.ts';
import { MAC, shownCodes, type TestAgentOptions, UUID } from './reference/test-agent.ts';
import type { TinkLegacyServer } from './reference/tink-legacy-server.ts';

let site: EmfSite;
let keycloak: Keycloak;
let manager: OnboardingManager;
let tink: TinkLegacyServer;

beforeEach(async () => {
  site = await EmfSite.start();
  ({ keycloak, manager, tink } = site);
});

afterEach(() => site.stop());

const start = (setup?: TestAgentOptions) => site.startAgent(setup);

describe('non-interactive onboarding, by the rows of the reference server’s table', () => {
  it('row: ONBOARDED → fetches tokens, keeps them in files of mode 0600, works, hands over', async () => {
    const { folder, ended, handedOver } = start();
    await ended;
    expect(handedOver).toEqual([{ kind: 'reboot' }]);
    expect(tink.isDone).toBe(true);
    expect(manager.requests[0]).toMatchObject({ uuid: UUID, serialnum: '5VJ0X13', macId: MAC });
    expect(keycloak.forms[0]).toEqual({
      grant_type: 'client_credentials',
      client_id: 'edgenode-1',
      client_secret: 'secret',
    });
    const files = {
      client_id: 'edgenode-1',
      client_secret: 'secret',
      project_id: 'project-1',
      release_token: 'anonymous',
      idp_access_token: [...keycloak.valid][0],
    };
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, 'credentials', name);
      expect(readFileSync(path, 'utf8')).toBe(content);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
  });

  it('row: REGISTERED → asks again on the same stream until the node is let in', async () => {
    manager.rows = [rows.registered, rows.registered, rows.registered, rows.onboarded];
    const { ended, statuses } = start();
    await ended;
    expect(manager.streams).toBe(1);
    expect(manager.requests).toHaveLength(4);
    expect(statuses.some(({ text }) => text.includes('a person to onboard this node'))).toBe(true);
  });

  it('trap 2: NotFound → half-closes the stream, which the server keeps open, and asks again later', async () => {
    manager.rows = [rows.notFound, rows.notFound, rows.onboarded];
    const running = start();
    await running.ended;
    expect(manager.halfClosed).toBeGreaterThanOrEqual(2);
    expect(manager.streams).toBe(3);
    expect(shownCodes(running)).toEqual(['KND_ONBOARD_NOT_FOUND']);
  });

  it.each([
    ['FailedPrecondition, other desired state', rows.unspecified, 'KND_ONBOARD_REFUSED', 'unspecified'],
    ['InvalidArgument', rows.invalid, 'KND_ONBOARD_INVALID', 'value must be a valid UUID'],
    ['Internal', rows.internal, 'KND_ONBOARD_FAILED', 'Internal server error'],
    ['trap 1: OK without a state', rows.okWithoutState, 'KND_ONBOARD_FAILED', 'without saying a state'],
    ['ONBOARDED without a secret', rows.onboardedWithoutSecret, 'KND_ONBOARD_FAILED', 'without credentials'],
    ['the RPC fails with Internal', rows.keycloakDown, 'KND_SERVER_GRPC_STATUS', 'cannot create client'],
    ['the stream ends without an answer', rows.ends, 'KND_ONBOARD_CLOSED', 'without an answer'],
  ])('row: %s → names it, keeps trying, gets in once it is fixed', async (_title, row, code, text) => {
    manager.rows = [row, rows.onboarded];
    const running = start();
    await running.ended;
    expect(shownCodes(running)).toEqual([code]);
    expect(running.statuses.find(({ error }) => error)?.error?.message).toContain(text);
    expect(tink.isDone).toBe(true);
  });

  it('row: FailedPrecondition, already onboarded → goes on to the installed system; no work is asked for', async () => {
    manager.rows = [rows.already];
    const { ended, executed, handedOver } = start({
      inventory: { disks: [disk({ name: 'sda', partitionTable: 'gpt' })] },
    });
    await ended;
    expect(executed).toEqual(['boot-order']);
    expect(handedOver).toEqual([{ kind: 'reboot' }]);
    expect(tink.polls).toBe(0);
  });

  it('row: FailedPrecondition, already onboarded, with no system on any disk → says so and keeps asking', async () => {
    manager.rows = [rows.already, rows.onboarded];
    const running = start();
    await running.ended;
    expect(shownCodes(running)).toEqual(['KND_ONBOARD_ALREADY']);
    expect(tink.isDone).toBe(true);
  });

  it('trap 5: sends a serial number with spaces as it is', async () => {
    const { ended } = start({ flags: { serial: 'To be filled by O.E.M.' } });
    await ended;
    expect(manager.requests[0]?.serialnum).toBe('To be filled by O.E.M.');
  });

  it('trap 4: uses worker_id byte for byte as mac_id and worker id', async () => {
    const odd = '52-54-00-AB-cd-EF';
    Object.assign(tink, { workerId: odd });
    const { ended } = start({ flags: { 'worker-id': odd } });
    await ended;
    expect(manager.requests[0]?.macId).toBe(odd);
    expect(tink.reports[0]?.workerId).toBe(odd);
  });

  it('does not onboard again after a restart: credentials of the same boot are still there', async () => {
    const first = start();
    await first.ended;
    manager.rows = [rows.already];
    tink.states = tink.states.map(() => 0);
    const second = start({ folder: first.folder, flags: { 'state-folder': join(first.folder, 'new') } });
    await second.ended;
    expect(manager.requests).toHaveLength(1);
  });

  it('onboards anew when the server has revoked the credentials', async () => {
    const first = start();
    await first.ended;
    keycloak.clients = { 'edgenode-1': 'secret' };
    keycloak.failures = [401];
    keycloak.revokeAll();
    tink.states = tink.states.map(() => 0);
    const second = start({ folder: first.folder, flags: { 'state-folder': join(first.folder, 'new') } });
    await second.ended;
    expect(manager.requests).toHaveLength(2);
    expect(second.lines.join('\n')).toContain('onboarding anew');
  });

  it('trap 6: with DEBUG=true gives up after TIMEOUT, as the original does; without it never', async () => {
    manager.rows = [rows.registered];
    const debugging = start({ kernel: 'DEBUG=true TIMEOUT=200ms' });
    await expect(debugging.ended).rejects.toThrow();
    const asked = manager.requests.length;
    const patient = start({ kernel: 'DEBUG=false TIMEOUT=1ms' });
    await until(() => manager.requests.length > asked + 2, 'more questions');
    manager.rows = [rows.onboarded];
    await patient.ended;
    expect(patient.executed).toEqual(['reboot']);
  });

  it('waits for a token server that answers with an error, and names its HTTP status', async () => {
    keycloak.failures = [503, 503];
    const running = start();
    await running.ended;
    expect(shownCodes(running)).toEqual(['KND_SERVER_HTTP_STATUS']);
  });
});
