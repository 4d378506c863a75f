import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeCpio } from '../../formats/cpio.ts';
import { packConfigArchive } from '../../site/config-archive.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const site = {
  ca: '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----',
  environment: { KEYCLOAK_URL: 'https://id.example', OBM_PORT: '443' },
  site: 'a-site',
  edition: { version: 1, expires: '2100-01-01T00:00:00.000Z' },
};

describe('the config archive', () => {
  it('has EMF’s files where EMF’s Micro-OS, HookOS and ours look for them', () => {
    const files = new Map(
      decodeCpio(packConfigArchive(site, [key])).flatMap((entry) =>
        entry.type === 'file' ? [[entry.path, entry.contents.toString()]] : [],
      ),
    );
    expect(files.get('etc/emf/env_config')).toBe('KEYCLOAK_URL=https://id.example\nOBM_PORT=443\n');
    expect(files.get('etc/hook/env_config')).toBe(files.get('etc/emf/env_config'));
    expect(files.get('etc/idp/ca.pem')).toBe(`${site.ca}\n`);
  });

  it('names every folder before what is in it, because the kernel makes none', () => {
    const paths = decodeCpio(packConfigArchive(site, [key])).map(({ path }) => path);
    for (const [index, path] of paths.entries()) {
      const folder = path.split('/').slice(0, -1).join('/');
      if (folder) expect(paths.indexOf(folder)).toBeLessThan(index);
    }
  });

  it('is the same for the same settings', () => {
    expect(packConfigArchive(site, [key]).equals(packConfigArchive(site, [key]))).toBe(true);
  });

  it('refuses a setting that would become two', () => {
    expect(() => packConfigArchive({ ...site, environment: { A: 'x\nB=y' } }, [key])).toThrow('no setting');
    expect(() => packConfigArchive({ ...site, environment: { 'A B': 'x' } }, [key])).toThrow('no setting');
  });
});
