import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import { defineAction } from '../contract/action.ts';
import { parseImageReference } from '../registry/image-reference.ts';
import { type Manifest, Registry } from '../registry/registry.ts';
import { basesFor, readRegistrySettings } from '../registry/registry-settings.ts';
import { IMAGE_PARAMETERS } from './image-parameters.ts';
import { proxiesOf } from './write-request.ts';
import { writeToTarget } from './write-to-target.ts';

export const oci2disk = defineAction({
  name: 'oci2disk',
  aliases: [],
  summary: 'Streams an image that is kept in an OCI registry onto the target disk',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...IMAGE_PARAMETERS,
    IMG_URL: {
      type: 'text',
      required: true,
      pattern: /\S/,
      description: 'The artifact: registry/repository:tag or @sha256:…',
    },
    COMPRESSED: { type: 'boolean', description: 'Accepted; the format is recognized by its first bytes' },
    REGISTRY_USERNAME: { type: 'text', description: 'User of the registry' },
    REGISTRY_PASSWORD: { type: 'text', secret: true, description: 'Password of the registry' },
    SKIP_VERIFY: {
      type: 'boolean',
      default: false,
      description: 'Do not check the registry’s certificate; the digests are checked all the same',
    },
  },
  notes: [
    'The largest layer of the artifact is the image. Its digest is checked before the disk is bootable; the manifest is checked too if the reference is a digest. The reference implementation checks neither.',
  ],
  async run(variables, context) {
    const settings = readRegistrySettings();
    const image = parseImageReference(variables.IMG_URL, settings.defaultRegistry);
    const registry = new Registry(image, {
      bases: basesFor(image.registry, settings),
      username: variables.REGISTRY_USERNAME,
      password: variables.REGISTRY_PASSWORD,
      signal: context.signal,
      network: {
        ...siteNetwork(variables.TLS_CA_CERT),
        proxies: proxiesOf(variables),
        ...(variables.SKIP_VERIFY ? { trust: 'anyone' } : {}),
      },
    });
    const layer = imageLayer(await registry.manifest());
    const { url, access } = registry.blobAddress(layer);
    context.log('info', `${variables.IMG_URL} is ${layer.digest}, ${layer.size} bytes`);
    return writeToTarget(
      'oci2disk',
      { ...variables, IMG_URL: url, SHA256: layer.digest.replace('sha256:', ''), COMPRESSED: undefined },
      context,
      { ...access, ...(variables.SKIP_VERIFY ? { isUnverified: true } : {}) },
    );
  },
});

function imageLayer({ layers }: Manifest) {
  const [largest] = layers.toSorted((a, b) => b.size - a.size);
  if (largest) return largest;
  throw new KindlingError('KND_REGISTRY', 'the artifact has no layers');
}
