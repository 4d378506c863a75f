import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Seed, seedFiles } from '../../../actions/cloud-init/seed-files.ts';

const seed: Seed = {
  userData: '#cloud-config\nruncmd:\n  - echo "a: b"\n',
  hostname: 'n1',
  networkConfig: 'network:\n  version: 2\n',
};
const byPath = (kind: 'mutable' | 'immutable', changes: Partial<Seed> = {}) =>
  Object.fromEntries(
    seedFiles(kind, { ...seed, ...changes }).map((file) => [file.path, String(file.contents)]),
  );

describe('the seed', () => {
  it('of a mutable system is a complete NoCloud folder', () => {
    const files = byPath('mutable');
    expect(files['/var/lib/cloud/seed/nocloud/user-data']).toBe(seed.userData);
    expect(parse(files['/var/lib/cloud/seed/nocloud/meta-data'] ?? '')).toEqual({
      'instance-id': expect.stringMatching(/^iid-kindling-[0-9a-f]{16}$/),
      'local-hostname': 'n1',
    });
    expect(files['/var/lib/cloud/seed/nocloud/network-config']).toBe(seed.networkConfig);
    expect(parse(files['/etc/cloud/cloud.cfg.d/99-kindling.cfg'] ?? '')).toEqual({
      datasource_list: ['NoCloud', 'None'],
      datasource: { NoCloud: { fs_label: null } },
    });
  });

  it('of an immutable system is one file, user data unchanged inside', () => {
    const files = byPath('immutable');
    expect(Object.keys(files)).toEqual([
      '/etc/cloud/ds-identify.cfg',
      '/etc/cloud/cloud.cfg.d/99-kindling.cfg',
    ]);
    const settings = parse(files['/etc/cloud/cloud.cfg.d/99-kindling.cfg'] ?? '');
    expect(settings.datasource.NoCloud['user-data']).toBe(seed.userData);
    expect(settings.network).toEqual({ version: 2 });
  });

  it('has another instance id for another configuration, the same for the same', () => {
    const id = (changes: Partial<Seed>) =>
      parse(byPath('mutable', changes)['/var/lib/cloud/seed/nocloud/meta-data'] ?? '')['instance-id'];
    expect(id({})).toBe(id({}));
    expect(id({ userData: '#cloud-config\n' })).not.toBe(id({}));
    expect(id({ instanceId: 'mine' })).toBe('mine');
    expect(id({ metaData: 'instance-id: theirs\n' })).toBe('theirs');
    const [one, two] = ['u-1', 'u-2'].map((machine) => id({ machine }));
    expect(one).toMatch(/^iid-u-1-[0-9a-f]{16}$/);
    expect(two).not.toBe(one);
  });
});
