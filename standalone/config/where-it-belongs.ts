import type { Path } from './issue.ts';
import { formatPath } from './issue.ts';
import { configSchema } from './schema.ts';
import { keysOf, schemaAt, sectionsOf } from './schema-walk.ts';

/** A section with more keys than this is looked up, not listed. */
const MOST_KEYS_LISTED = 8;

/**
 * For a key that a section does not know: the section above or below that knows it, else the keys of a short section.
 * A key of the same name somewhere else altogether (`path` of a file, for an image) would lead astray.
 */
export function whereItBelongs(key: string, at: Path): string {
  const place = at[0] === 'nodes' ? at.slice(2) : at;
  const owners = sectionsOf(configSchema).filter(({ keys }) => keys.includes(key));
  const owner = owners.find(({ path }) => isAbove(path, place) || isAbove(place, path));
  if (owner !== undefined) {
    const name = formatSection(owner.path);
    return name === '' ? '; it belongs to the top of the file' : `; it belongs below ${name}`;
  }
  const known = keysOf(schemaAt(configSchema, at));
  if (known.length === 0 || known.length > MOST_KEYS_LISTED) return '';
  return `; known here: ${known.join(', ')}`;
}

function isAbove(upper: Path, lower: Path): boolean {
  return upper.every((segment, index) => typeof segment === 'number' || segment === lower[index]);
}

/** ['users', 0] → users[] */
function formatSection(path: Path): string {
  return formatPath(path).replaceAll(/\[\d+\]/g, '[]');
}
