import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportFiles } from '../../../actions/first-boot-report/report-files.ts';

/** A server that answers with the statuses it is given, then with 200. */
async function reportServer(statuses: number[] = []) {
  const bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(await text(request)));
    response.statusCode = statuses.shift() ?? 200;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/api/v1/first-boot/it's-a-key`,
    bodies,
    close: () => server.close(),
  };
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-report-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the script in a system that has only these programs, without leaving marks on this machine. */
async function runScript(url: string, programs: readonly string[]) {
  const bin = await mkdtemp(path.join(folder, 'bin-'));
  for (const name of ['sh', 'sed', 'tr', 'cat', 'uname', 'mkdir', 'rm', ...programs]) {
    // The real interpreter: a version manager's shim would need more programs.
    const { stdout } = await execa('sh', [
      '-c',
      name === 'python3' ? 'python3 -c "import sys; print(sys.executable)"' : `command -v ${name}`,
    ]);
    await symlink(stdout, path.join(bin, name));
  }
  const file = path.join(folder, 'report');
  const contents = String(reportFiles({ url })[1]?.contents)
    .replaceAll('/etc/kindling', path.join(bin, 'state'))
    .replaceAll('/sys/firmware/efi', path.join(bin, 'efi')) // never the firmware of this machine
    .replaceAll('/etc/systemd/system', path.join(bin, 'units'))
    .replaceAll('/bin/bash', programs.includes('bash') ? '/bin/bash' : '/no/bash');
  await writeFile(file, contents);
  return execa('/bin/sh', [file], { env: { PATH: bin }, extendEnv: false, reject: false, stdin: 'ignore' });
}

describe('the first-boot report', () => {
  it.each(['curl', 'wget', 'python3', 'bash'])('is sent with %s', async (program) => {
    const server = await reportServer();
    const { exitCode, stderr } = await runScript(server.url, [program]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(server.bodies).toEqual([
      {
        hostname: expect.any(String),
        kernel: expect.any(String),
        bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        failedUnits: expect.any(Array),
        cloudInit: 'absent',
        address: expect.any(String),
      },
    ]);
    server.close();
  });

  it.each(['curl', 'wget', 'python3', 'bash'])(
    'fails with %s when the server refuses, so that systemd tries again',
    async (program) => {
      const server = await reportServer([500]);
      expect((await runScript(server.url, [program])).exitCode).not.toBe(0);
      server.close();
    },
  );

  it('is sent with an address that no other user of the system can read off the command line', async () => {
    const bin = await mkdtemp(path.join(folder, 'spy-'));
    const curl = `#!/bin/sh\nprintf '%s\\n' "$@" > ${bin}/arguments; cat > ${bin}/input\n`;
    await writeFile(path.join(bin, 'curl'), curl, { mode: 0o755 });
    const file = path.join(bin, 'report');
    const script = String(reportFiles({ url: 'https://h/first-boot/the-key' })[1]?.contents);
    const quiet = script.replaceAll(
      /\/etc\/kindling|\/sys\/firmware\/efi|\/etc\/systemd\/system/g,
      `${bin}/none`,
    );
    await writeFile(file, quiet);
    await execa('/bin/sh', [file], {
      env: { PATH: `${bin}:/usr/bin:/bin` },
      extendEnv: false,
      reject: false,
    });
    expect(await readFile(path.join(bin, 'arguments'), 'utf8')).not.toContain('the-key');
    expect(await readFile(path.join(bin, 'input'), 'utf8')).toBe('url = "https://h/first-boot/the-key"\n');
  });

  it('says so if there is nothing to send it with', async () => {
    expect(await runScript('http://127.0.0.1:1/', [])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no curl'),
    });
  });
});
