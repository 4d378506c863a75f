import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from './reference/agents.ts';
import { EmfSite } from './reference/emf-site.ts';
import type { Keycloak } from './reference/keycloak.ts';
import { type OnboardingManager, rows } from './reference/onboarding-manager.ts';
import { MAC, UUID } from './reference/test-agent.ts';
import { shown, signIn, TestConsole } from './reference/test-console.ts';
import type { TinkLegacyServer } from './reference/tink-legacy-server.ts';

let site: EmfSite;
let keycloak: Keycloak;
let manager: OnboardingManager;
let tink: TinkLegacyServer;
let serial: TestConsole;
let screen: TestConsole;

beforeEach(async () => {
  site = await EmfSite.start();
  ({ keycloak, manager, tink } = site);
  keycloak.users = { operator: 'correct-horse' };
  manager.rows = [rows.notFound];
  serial = new TestConsole('ttyS1');
  screen = new TestConsole('tty0');
});

afterEach(() => site.stop());

const start = (env: Record<string, string> = {}) =>
  site.startAgent({ env, options: { openConsoles: () => [serial, screen] } });

describe('interactive onboarding', () => {
  it('asks on every console, takes the one that answers, and works with the person’s token', async () => {
    const { ended } = start();
    await shown(serial, 'Provide Username and password for the IDP', 1);
    await signIn(screen, 'operator', 'correct-horse');
    await ended;
    expect(screen.screen).toContain('Username, Password received: Processing');
    expect(serial.screen).toContain('Username: ');
    expect(keycloak.forms[0]).toEqual({
      username: 'operator',
      password: 'correct-horse',
      grant_type: 'password',
      client_id: 'system-client',
      scope: 'openid',
    });
    expect(manager.createNodes[0]?.request.payload[0]?.hwdata[0]).toMatchObject({
      uuid: UUID,
      serialnum: '5VJ0X13',
      macId: MAC,
    });
    expect(keycloak.valid.has(manager.createNodes[0]?.authorization.replace('Bearer ', '') ?? '')).toBe(true);
    expect(tink.isDone).toBe(true);
    expect(serial.isClosed && screen.isClosed).toBe(true);
  });

  it('shows the user name while it is typed, but never the password', async () => {
    const { ended } = start();
    await signIn(screen, 'operatox\x7fr', 'correct-horse');
    await ended;
    expect(screen.screen).toContain('operatox\b \br');
    expect(screen.screen).not.toContain('correct-horse');
  });

  it('goes on with the person’s word when the refresh token has ended, because the server onboards a node only once', async () => {
    keycloak.takesRefreshToken = false;
    tink.isWorkflowThere = false;
    const { ended, executed } = start();
    await signIn(screen, 'operator', 'correct-horse');
    await until(() => tink.polls > 0, 'a question for work');
    manager.rows = [rows.already];
    keycloak.revokeAll();
    tink.isWorkflowThere = true;
    await ended;
    expect(executed).toEqual(['reboot']);
    expect(keycloak.forms.map((form) => form['grant_type'])).toContain('refresh_token');
    expect(keycloak.forms.at(-1)?.['grant_type']).toBe('password');
    expect(manager.createNodes).toHaveLength(1);
  });

  it('trap 3: asks the server again when the project id is empty', async () => {
    manager.createNodesAnswers = ['', 'project-1'];
    const { ended } = start();
    await signIn(screen, 'operator', 'correct-horse');
    await ended;
    expect(manager.createNodes).toHaveLength(2);
  });

  it('lets a person try again after a wrong password', async () => {
    const { ended } = start();
    await signIn(screen, 'operator', 'wrong-horse');
    await shown(screen, 'is wrong', 1);
    await signIn(screen, 'operator', 'wrong-horse', 2);
    await signIn(screen, 'operator', 'wrong-horse', 3);
    await shown(screen, 'Incorrect username and password provided.', 1);
    await signIn(screen, 'operator', 'correct-horse', 4);
    await ended;
    expect(tink.isDone).toBe(true);
  });

  it('does not take what is too short, and drops spaces and semicolons', async () => {
    const { ended } = start();
    await shown(screen, 'Username: ', 1);
    screen.keyboard.write('ab\r');
    await shown(screen, 'At least 3 characters', 1);
    await shown(screen, 'Username: ', 2);
    screen.keyboard.write(' operator; \r');
    await shown(screen, 'Password: ', 1);
    screen.keyboard.write('correct-horse\r');
    await ended;
    expect(keycloak.forms[0]?.['username']).toBe('operator');
  });

  it.each([
    ['no role', status.PERMISSION_DENIED, 'KND_PERMISSION_DENIED'],
    ['a bad token', status.UNAUTHENTICATED, 'KND_UNAUTHENTICATED'],
    ['a validation error, which is Unknown', status.UNKNOWN, 'KND_SERVER_GRPC_STATUS'],
    ['a provider error', status.INTERNAL, 'KND_SERVER_GRPC_STATUS'],
  ])('names %s on the console and asks for another sign-in', async (_title, code, expected) => {
    manager.createNodesAnswers = [code, code, code, 'project-1'];
    if (expected !== 'KND_SERVER_GRPC_STATUS') manager.createNodesAnswers = [code, 'project-1'];
    const running = start();
    await signIn(screen, 'operator', 'correct-horse');
    await shown(screen, 'registering the node', 1);
    expect(running.lines.join('\n')).toContain(expected);
    await signIn(screen, 'operator', 'correct-horse', 2);
    await running.ended;
    expect(tink.isDone).toBe(true);
  });

  it('goes on by itself when somebody registers the node meanwhile', async () => {
    const { ended } = start();
    await shown(screen, 'Username: ', 1);
    manager.rows = [rows.onboarded];
    await ended;
    expect(keycloak.forms[0]?.['grant_type']).toBe('client_credentials');
    expect(screen.isClosed).toBe(true);
  });

  it('does not ask anybody when interactive onboarding is switched off', async () => {
    const { ended } = start({ DISABLE_INTERACTIVE: 'true' });
    await until(() => manager.streams > 2, 'three streams');
    manager.rows = [rows.onboarded];
    await ended;
    expect(screen.screen).toBe('');
  });
});
