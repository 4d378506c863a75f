import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'kindling-standalone-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function kindling(...args: string[]) {
  return execa(process.execPath, ['cli/main.ts', 'standalone', ...args], { reject: false });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const VALID = 'version: 1.0\noperatingSystem:\n  users: [{username: edge, password: c2VjcmV0c2VjcmV0}]\n';

describe('kindling standalone', () => {
  test('validate ends with 0 for a good file and 2 for a bad one, findings on standard output', async () => {
    const good = await kindling('validate', file('good.yaml', VALID));
    expect(good).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('valid') });
    const path = file('bad.yaml', `${VALID}dsk: {}\n`);
    const bad = await kindling('validate', path);
    expect(bad.exitCode).toBe(2);
    expect(bad.stdout).toBe(`${path}:4:1: error CFG002 dsk: unknown key "dsk" (did you mean "disk"?)`);
    expect(bad.stderr).toContain('KND_STANDALONE_CONFIG_INVALID');
    const json = await kindling('validate', '--json', path);
    expect(JSON.parse(json.stdout)).toMatchObject([{ code: 'CFG002', line: 4, column: 1 }]);
  });

  test('validate looks for the image beside the file, and not with --no-files', async () => {
    const path = file('image.yaml', `${VALID}image: {file: disk.raw}\n`);
    const missing = await kindling('validate', path);
    expect(missing.exitCode).toBe(2);
    expect(missing.stdout).toBe(
      `${path}:4:15: error IMG504 image.file: there is no file disk.raw beside the config file`,
    );
    expect((await kindling('validate', '--no-files', path)).exitCode).toBe(0);
    file('disk.raw', 'an image');
    expect((await kindling('validate', path)).exitCode).toBe(0);
  });

  test('a machine that nobody can enter has to be asked for', async () => {
    const path = file('locked.yaml', 'version: 1.0\noperatingSystem:\n  users: [{username: edge}]\n');
    for (const command of ['validate', 'render']) {
      expect((await kindling(command, path)).exitCode).toBe(2);
      expect((await kindling(command, '--allow-no-login', path)).exitCode).toBe(0);
    }
  });

  test('render writes the files of the target; no password stands in clear', async () => {
    const out = join(folder, 'target');
    const { exitCode } = await kindling('render', file('render.yaml', VALID), '--out', out);
    expect(exitCode).toBe(0);
    const userData = readFileSync(join(out, 'user-data'), 'utf8');
    expect(userData).toContain('hashed_passwd: $6$');
    expect(userData).not.toMatch(/c2VjcmV0|secret/);
  });

  test('migrate prints a file that validate accepts', async () => {
    const { stdout, stderr } = await kindling(
      'migrate',
      file('config-file', 'user_name="edge"\nhost_type="container"\n'),
    );
    expect(stderr).toContain('note: ');
    expect((await kindling('validate', '--allow-no-login', file('migrated.yaml', stdout))).exitCode).toBe(0);
  });

  test('a file that is not there is a usage error', async () => {
    expect(await kindling('validate', join(folder, 'none.yaml'))).toMatchObject({ exitCode: 2 });
  });
});
