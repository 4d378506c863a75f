import { expect, it } from 'vitest';
import { parseImageReference } from '../../../actions/registry/image-reference.ts';
import { basesFor, readRegistrySettings } from '../../../actions/registry/registry-settings.ts';

const settings = readRegistrySettings({
  DOCKER_REGISTRY: 'registry.site:5000',
  INSECURE_REGISTRIES: 'plain.site,10.0.0.1:5000',
  KINDLING_REGISTRY_MIRRORS: 'quay.io=https://mirror.site/quay, plain.site',
});

it.each([
  ['quay.io', ['https://mirror.site/quay', 'http://plain.site', 'https://quay.io']],
  ['ghcr.io', ['http://plain.site', 'https://ghcr.io']],
  ['10.0.0.1:5000', ['http://plain.site', 'http://10.0.0.1:5000']],
])('images of %s are asked for at %j', (registry, bases) => {
  expect(basesFor(registry, settings)).toEqual(bases);
});

it('without mirrors the registry itself is asked, this machine over plain HTTP', () => {
  const none = readRegistrySettings({});
  expect(basesFor('quay.io', none)).toEqual(['https://quay.io']);
  expect(basesFor('127.0.0.1:5000', none)).toEqual(['http://127.0.0.1:5000']);
});

it('an image without a registry is taken from the site’s', () => {
  expect(parseImageReference('tools/x:1', settings.defaultRegistry)).toMatchObject({
    registry: 'registry.site:5000',
    repository: 'tools/x',
  });
  expect(parseImageReference('docker.io/x', settings.defaultRegistry).registry).toBe('registry-1.docker.io');
});
