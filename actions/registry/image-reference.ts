import { KindlingError } from '../../protocol/error.ts';

/** An image as registries know it (distribution specification: "Pulling manifests"). */
export interface ImageReference {
  /** Host and port. */
  registry: string;
  repository: string;
  /** Tag or digest. */
  reference: string;
}

const DEFAULT_REGISTRY = 'registry-1.docker.io';

/** Reads `[registry/]repository[:tag][@digest]`; a first part without dot, colon or "localhost" is no registry, as with Docker. */
export function parseImageReference(text: string, defaultRegistry = DEFAULT_REGISTRY): ImageReference {
  const bare = text.replace(/^(oci|docker|https?):\/\//, '');
  const [name = '', digest] = bare.split('@');
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const hasRegistry = first.includes('.') || first.includes(':') || first === 'localhost';
  const path = hasRegistry ? name.slice(slash + 1) : name;
  const colon = path.lastIndexOf(':');
  const repository = (colon < 0 ? path : path.slice(0, colon)).toLowerCase();
  const tag = colon < 0 ? 'latest' : path.slice(colon + 1);
  const isValid =
    (!hasRegistry || /^[a-zA-Z0-9[]/.test(first)) &&
    /^[a-z0-9]+([._/-]+[a-z0-9]+)*$/.test(repository) &&
    /^[\w][\w.-]*$/.test(tag);
  if (!isValid || (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))) {
    throw new KindlingError('KND_IMAGE_REFERENCE', `"${text}" is not the name of an image`);
  }
  const registry = hasRegistry ? (first === 'docker.io' ? DEFAULT_REGISTRY : first) : defaultRegistry;
  const isOfficial = registry === DEFAULT_REGISTRY && !repository.includes('/');
  return {
    registry,
    repository: isOfficial ? `library/${repository}` : repository,
    reference: digest ?? tag,
  };
}
