import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writeContainerFiles } from '../../release/container/container-files.ts';
import { buildOciImage } from '../../release/container/oci-image.ts';
import { run } from '../../system/run.ts';

const STAMP = { version: '1.2.3', commit: 'abcdef012', time: 1_700_000_000 };
let folder = '';
let archive = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-oci-test-'));
  await writeFile(join(folder, 'program'), 'not the real one: the image takes any file');
  archive = join(folder, await buildOciImage(join(folder, 'program'), STAMP, folder));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function skopeo(...args: string[]) {
  return run('skopeo', ['--insecure-policy', ...args]);
}

describe('the container image', () => {
  it('starts the orchestrator as a user without rights, and says what it is', async () => {
    const { stdout } = await skopeo('inspect', '--config', `oci-archive:${archive}:localhost/kindling:1.2.3`);
    expect(JSON.parse(stdout)).toMatchObject({
      created: '2023-11-14T22:13:20Z',
      architecture: 'amd64',
      os: 'linux',
      config: {
        User: '65532:65532',
        Entrypoint: ['/kindling'],
        Cmd: ['serve', '--state', '/var/lib/kindling'],
        Labels: {
          'org.opencontainers.image.version': '1.2.3',
          'org.opencontainers.image.revision': 'abcdef012',
        },
      },
    });
  });

  it('is taken by a real reader, which checks every digest, and holds the program and its folders alone', async () => {
    const copy = join(folder, 'copy');
    await skopeo('copy', `oci-archive:${archive}`, `dir:${copy}`);
    const manifest = JSON.parse(await readFile(join(copy, 'manifest.json'), 'utf8')) as {
      layers: { digest: string }[];
    };
    const layer = join(copy, manifest.layers[0]?.digest.replace('sha256:', '') ?? '');
    expect(await readdir(copy)).toHaveLength(4);
    const { stdout } = await run('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '--file', layer]);
    expect(stdout.replaceAll(/ +/g, ' ')).toBe(`-rwxr-xr-x 0/0 42 2023-11-14 22:13 kindling
drwxrwxrwt 0/0 0 2023-11-14 22:13 tmp
drwxr-xr-x 0/0 0 2023-11-14 22:13 var
drwxr-xr-x 0/0 0 2023-11-14 22:13 var/lib
drwx------ 65532/65532 0 2023-11-14 22:13 var/lib/kindling
`);
  });

  it('has a compose file and a quadlet that start this very version', async () => {
    await writeContainerFiles(STAMP, folder);
    const compose = parse(await readFile(join(folder, 'compose.yaml'), 'utf8')) as {
      services: { kindling: { image: string } };
    };
    expect(compose.services.kindling.image).toBe('localhost/kindling:1.2.3');
    expect(await readFile(join(folder, 'kindling.container'), 'utf8')).toContain(
      '\nImage=localhost/kindling:1.2.3\n',
    );
  });
});
