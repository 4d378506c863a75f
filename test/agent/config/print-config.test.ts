import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('kindling-agent config shows what one server address stands for, and where that came from', () => {
  const main = new URL('../../../agent/main.ts', import.meta.url).pathname;
  const args = ['config', '--cmdline', '/dev/null', '--server', 'https://kindling.site:8443', '--json'];
  const rows = JSON.parse(execFileSync(process.execPath, [main, ...args], { encoding: 'utf8' })) as unknown[];
  const named = (name: string) => expect.objectContaining({ name });
  expect(rows).toContainEqual({ name: 'server', value: 'https://kindling.site:8443', origin: '--server' });
  expect(rows).toContainEqual({
    name: 'keycloak',
    value: 'kindling.site:8443',
    origin: 'same as the server',
  });
  expect(rows).toContainEqual({ name: 'tls', value: true, origin: 'scheme of the server' });
  expect(rows).toContainEqual(named('workerId'));
});
