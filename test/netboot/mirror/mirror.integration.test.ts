import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestNetwork } from '../../../lab/qemu/network.ts';
import { kill } from '../../../lab/qemu/processes.ts';
import { updateMirror } from '../../../netboot/mirror/update-mirror.ts';
import { BOOT_LIST_NAME } from '../../../protocol/site-files.ts';
import { publicArchiveKeys } from '../../../site/archive-key.ts';
import { prepareBootFiles } from '../../../site/boot-files.ts';
import { openSiteKeys, rotateKey } from '../../../site/site-keys.ts';
import { waitFor } from '../../../system/wait.ts';
import { makeSmallBootParts } from '../../site/small-boot-parts.ts';

const CLI = join(import.meta.dirname, '../../../cli/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'kindling-mirror-'));
const state = join(folder, 'state');
const stack = join(folder, 'stack');
const forever = new AbortController().signal;
let key = '';
/** What the origin answers instead of the file, by name. */
const spoiled = new Map<string, Buffer | number>();
const server = createServer((request, response) => {
  const name = decodeURIComponent(request.url ?? '').slice(1);
  const other = spoiled.get(name);
  if (typeof other === 'number') response.writeHead(other).end();
  else if (existsSync(join(stack, name))) response.end(other ?? readFileSync(join(stack, name)));
  else response.writeHead(404).end();
});
let origin = { url: '' };
/** Takes questions and never answers, as a machine whose power went. Asked at the beginning, because it takes its time. */
const silent = createServer(() => {});
let missed: Promise<unknown>;

async function publish(): Promise<void> {
  const request = {
    ...makeSmallBootParts(join(folder, 'parts')),
    stackFolder: stack,
    tftpFolder: join(folder, 'tftp'),
    stackUrl: 'http://10.0.0.1/tink-stack',
    serverUrl: 'https://10.0.0.1',
  };
  await prepareBootFiles(request, await openSiteKeys(state));
}

beforeAll(async () => {
  await publish();
  key = publicArchiveKeys((await openSiteKeys(state)).archive)[0] ?? '';
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  silent.listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const nobody = { url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` };
  missed = updateMirror(mirror('silent'), nobody, forever).catch((error: unknown) => error);
});
afterAll(() => {
  for (const each of [server, silent]) {
    each.closeAllConnections();
    each.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

const mirror = (name: string) => ({ folder: join(folder, name), key });
const read = (name: string, file: string) => readFileSync(join(folder, name, 'current', file));

describe('a site mirror', () => {
  it('takes a whole release, then only what changed, and switches in one step', async () => {
    const first = await updateMirror(mirror('a'), origin, forever);
    expect(first.kind).toBe('updated');
    expect(read('a', 'loader-x86_64.efi')).toEqual(readFileSync(join(stack, 'loader-x86_64.efi')));
    expect(await updateMirror(mirror('a'), origin, forever)).toMatchObject({ kind: 'unchanged' });
    await publish(); // as `kindling serve` does at every start: what is signed already stays as it is
    expect(await updateMirror(mirror('a'), origin, forever)).toMatchObject({ kind: 'unchanged' });

    await rotateKey(state, 'tls'); // other CAs: another archive and loader, the same initramfs
    await publish();
    const initramfsBefore = statSync(join(folder, 'a/current/initramfs-x86_64')).ino;
    const second = await updateMirror(mirror('a'), origin, forever);
    expect(second.kind).toBe('updated');
    expect(second.downloaded).toBeLessThan(first.downloaded);
    expect(statSync(join(folder, 'a/current/initramfs-x86_64')).ino).toBe(initramfsBefore);
    expect(read('a', 'config-archive.cpio')).toEqual(readFileSync(join(stack, 'config-archive.cpio')));
    expect(readdirSync(join(folder, 'a/releases'))).toHaveLength(2);
  });

  it('goes on with what it has when a file is tampered with, cut off or gone, and when nobody answers', async () => {
    await updateMirror(mirror('b'), origin, forever);
    const before = read('b', BOOT_LIST_NAME);
    await rotateKey(state, 'tls');
    await publish();
    const archive = readFileSync(join(stack, 'config-archive.cpio'));
    const tampered = Buffer.from(archive);
    tampered[200] = (tampered[200] ?? 0) ^ 1;
    for (const answer of [tampered, archive.subarray(0, 100), Buffer.concat([archive, archive]), 404, 500]) {
      spoiled.set('config-archive.cpio', answer);
      const code = typeof answer === 'number' ? 'KND_MIRROR_UNREACHABLE' : 'KND_MIRROR_REFUSED';
      await expect(updateMirror(mirror('b'), origin, forever)).rejects.toMatchObject({ code });
      expect(read('b', BOOT_LIST_NAME)).toEqual(before);
      expect(readdirSync(join(folder, 'b/releases')).filter((name) => name.includes('unfinished'))).toEqual(
        [],
      );
    }
    spoiled.clear();
    const nobody = { url: 'http://127.0.0.1:1' };
    await expect(updateMirror(mirror('b'), nobody, forever)).rejects.toMatchObject({
      code: 'KND_MIRROR_UNREACHABLE',
    });
    expect(await updateMirror(mirror('b'), origin, forever)).toMatchObject({ kind: 'updated' });
  });

  it('refuses the files of another site, and a list that was changed', async () => {
    const other = publicArchiveKeys((await openSiteKeys(join(folder, 'other'))).archive)[0] ?? '';
    const strange = updateMirror({ folder: join(folder, 'c'), key: other }, origin, forever);
    await expect(strange).rejects.toThrow('signed by another site');
    const list = JSON.parse(readFileSync(join(stack, BOOT_LIST_NAME), 'utf8'));
    const payload = Buffer.from(
      JSON.stringify({ keys: [], files: { '../../evil': { size: 1, sha256: '' } } }),
    );
    spoiled.set(
      BOOT_LIST_NAME,
      Buffer.from(JSON.stringify({ ...list, payload: payload.toString('base64') })),
    );
    await expect(updateMirror(mirror('c'), origin, forever)).rejects.toThrow('changed after it was signed');
    spoiled.clear();
  });

  it('learns the site’s new key from a list that the old one signed as well', async () => {
    await updateMirror(mirror('d'), origin, forever);
    await rotateKey(state, 'archive');
    await publish();
    await updateMirror(mirror('d'), origin, forever);
    const [present = ''] = publicArchiveKeys((await openSiteKeys(state)).archive);
    expect(JSON.parse(readFileSync(join(folder, 'd/site-keys.json'), 'utf8'))[0]).toBe(present);
    expect(present).not.toBe(key);
  });
});

it('serves DHCP, TFTP and HTTP from its own address, also when the orchestrator is gone', async () => {
  await using network = await createTestNetwork();
  const { bridge, namespace } = network;
  const orchestrator = namespace.start('busybox', ['httpd', '-f', '-p', '10.77.0.1:8080', '-h', stack]);
  const box = await bridge.addHost(3);
  let log = '';
  const logged = (text: string) =>
    waitFor(() => log.includes(text) || undefined, { name: text, timeoutMs: 60_000 });
  const [present = ''] = publicArchiveKeys((await openSiteKeys(state)).archive);
  const flags = ['--dir', join(folder, 'served'), '--key', present, '--pxe', 'eth0', '--every', '1'];
  box.start(process.execPath, [CLI, 'mirror', 'http://10.77.0.1:8080', ...flags], (text) => {
    log += text;
  });
  await logged('machines boot from eth0');
  await kill(orchestrator);
  await logged('KND_MIRROR_UNREACHABLE');

  const client = await bridge.addHost(4);
  const fetched = async (url: string) => (await client.run('curl', ['-sf', url])).stdout;
  for (const url of ['http://10.77.0.3:8080/tink-stack/autoexec.ipxe', 'tftp://10.77.0.3/autoexec.ipxe'])
    expect(await fetched(url)).toContain('set boot_url http://10.77.0.3:8080/tink-stack/boot.ipxe\n');
  expect(await fetched('http://10.77.0.3:8080/tink-stack/boot.ipxe')).toBe(
    readFileSync(join(stack, 'boot.ipxe'), 'utf8'),
  );
  const [enter = '', ...rest] = client.enter;
  const ask = [process.execPath, CLI, 'pxe', 'doctor', 'eth0', '--output', 'json', '--seconds', '1.5'];
  const { stdout } = await execa(enter, [...rest, ...ask], { reject: false });
  expect(stdout).toContain('"bootFile": "http://10.77.0.3:8080/tink-stack/ipxe.efi"');
});

it('misses an orchestrator that says nothing after seconds, not half a minute', async () => {
  expect(await missed).toMatchObject({
    code: 'KND_MIRROR_UNREACHABLE',
    message: expect.stringContaining('silent for 10 s'),
  });
});

describe('the mirror’s service', () => {
  const install = join(import.meta.dirname, '../../../netboot/mirror/install');

  it('is installed by the script, and systemd finds nothing wrong with it', async () => {
    const root = join(folder, 'root');
    // The program itself is left out: systemd only looks whether the file to start is there.
    mkdirSync(join(root, 'opt/kindling/node_modules/.bin'), { recursive: true });
    const place = join(root, 'opt/kindling/netboot/mirror/install');
    cpSync(install, place, { recursive: true });
    writeFileSync(join(root, 'opt/kindling/node_modules/.bin/node'), '', { mode: 0o755 });
    await execa(
      join(place, 'install-mirror.sh'),
      ['https://orchestrator.example/tink-stack', key, 'eth1', join(state, 'site-ca.crt')],
      {
        env: { KINDLING_ROOT: root },
      },
    );
    const settings = readFileSync(join(root, 'etc/kindling/mirror.env'), 'utf8');
    expect(settings).toContain(`KINDLING_SITE_KEY=${key}\n`);
    expect(settings).toContain('KINDLING_OPTIONS=--ca /etc/kindling/mirror-ca.pem\n');
    const unit = join(root, 'etc/systemd/system/kindling-mirror.service');
    writeFileSync(unit, readFileSync(unit, 'utf8').replaceAll('/opt/kindling', join(root, 'opt/kindling')));
    const { stdout, stderr } = await execa('systemd-analyze', ['verify', '--man=no', unit]);
    expect(`${stdout}${stderr}`).toBe('');
    const judged = await execa('systemd-analyze', ['security', '--offline=true', unit], { reject: false });
    expect(judged.stdout).toMatch(/Overall exposure level for kindling-mirror\.service: [0-2]\.\d OK/);
  });

  it('is not installed with half of its settings', async () => {
    const { exitCode, stderr } = await execa(join(install, 'install-mirror.sh'), ['https://x'], {
      reject: false,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('usage:');
  });
});
