import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from 'yaml';
import { CLOUD_CONFIG_KEYS } from './cloud-config-keys.ts';
import { checkAgainstSchema, type JsonSchema, type Strictness } from './json-schema.ts';

/** First lines by which cloud-init tells what user data is. */
const HEADERS = [
  '#cloud-config',
  '## template: jinja',
  '#!',
  '#include',
  '#cloud-boothook',
  '#part-handler',
  'Content-Type:',
  'MIME-Version:',
];

/** What is wrong with user data, each with its line; cloud-init itself would say so only after the first boot, or not at all. */
export function checkUserData(
  text: string,
  schema?: JsonSchema,
  strictness: Strictness = 'lenient',
): string[] {
  const firstLine = text.split('\n', 1)[0] ?? '';
  if (!HEADERS.some((header) => firstLine.startsWith(header))) {
    return ['line 1: no header that cloud-init knows; a cloud-config starts with #cloud-config'];
  }
  return firstLine.trimEnd() === '#cloud-config' ? checkCloudConfig(text, schema, strictness) : [];
}

/** Network configuration: version 1 or 2, bare or below "network". */
export function checkNetworkConfig(text: string): string[] {
  const { problems, root } = parse(text);
  if (problems.length > 0) return problems;
  const value = root as { version?: unknown; network?: { version?: unknown } } | null;
  const version = value?.version ?? value?.network?.version;
  return version === 1 || version === 2 ? [] : ['the network configuration needs version: 1 or version: 2'];
}

/** Meta-data: a mapping. */
export function checkMetaData(text: string): string[] {
  const { problems, root } = parse(text);
  if (problems.length > 0) return problems;
  return typeof root === 'object' && root !== null && !Array.isArray(root)
    ? []
    : ['meta-data must be a mapping'];
}

function parse(text: string): { problems: string[]; root: unknown } {
  const document = parseDocument(text, { prettyErrors: true });
  return {
    problems: document.errors.map(({ message }) => message.split('\n')[0] ?? message),
    root: document.errors.length ? null : document.toJS(),
  };
}

function checkCloudConfig(text: string, schema: JsonSchema | undefined, strictness: Strictness): string[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const at = (node: unknown) => {
    const range = (node as ParsedNode | undefined)?.range;
    return range ? `line ${lines.linePos(range[0]).line}: ` : '';
  };
  if (document.errors.length > 0) {
    return document.errors.map(
      (error) => `line ${lines.linePos(error.pos[0]).line}: ${error.message.split('\n')[0]}`,
    );
  }
  if (document.contents === null) return [];
  if (!isMap(document.contents)) return ['the cloud-config is not a mapping'];
  const problems = document.contents.items.flatMap(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : '';
    if (!CLOUD_CONFIG_KEYS.has(name)) return [`${at(key)}cloud-init knows no "${name}"`];
    return checkModule(name, value, at);
  });
  // Our own rules say it better; what they let through, the schema has the last word on.
  if (problems.length > 0 || !schema) return problems;
  return checkAgainstSchema(schema, document.toJS(), strictness).map(
    ({ path, message }) => `${at(document.getIn(path, true))}${path.join('.')}: ${message}`,
  );
}

const LISTS = [
  'write_files',
  'runcmd',
  'bootcmd',
  'packages',
  'mounts',
  'ssh_authorized_keys',
  'groups',
  'ssh_import_id',
];

/** The rules of cloud-init's schema that catch what people really get wrong. */
function checkModule(name: string, value: unknown, at: (node: unknown) => string): string[] {
  if (LISTS.includes(name) && name !== 'groups') {
    if (!isSeq(value)) return [`${at(value)}${name} must be a list`];
    if (value.items.length === 0) return [`${at(value)}${name} must not be an empty list`];
  }
  if (!isSeq(value)) return [];
  if (name === 'write_files') return value.items.flatMap((item) => checkWriteFile(item, at));
  if (name === 'runcmd' || name === 'bootcmd') {
    return value.items.flatMap((item) => {
      const isText = isScalar(item) && (typeof item.value === 'string' || item.value === null);
      const isWords =
        isSeq(item) && item.items.every((word) => isScalar(word) && typeof word.value !== 'object');
      return isText || isWords ? [] : [`${at(item)}a command of ${name} must be a text or a list of words`];
    });
  }
  if (name === 'users') {
    return value.items.flatMap((item) => {
      const isNamed = isMap(item) && (item.has('name') || item.has('snapuser'));
      return isNamed || (isScalar(item) && typeof item.value === 'string') || isSeq(item)
        ? []
        : [`${at(item)}a user needs a name`];
    });
  }
  return [];
}

const WRITE_FILE_KEYS = ['path', 'content', 'source', 'owner', 'permissions', 'encoding', 'append', 'defer'];

function checkWriteFile(item: unknown, at: (node: unknown) => string): string[] {
  if (!isMap(item)) return [`${at(item)}an entry of write_files must be a mapping`];
  const problems: string[] = [];
  if (typeof item.get('path') !== 'string') problems.push(`${at(item)}an entry of write_files needs a path`);
  for (const { key, value } of item.items) {
    const name = isScalar(key) ? String(key.value) : '';
    if (!WRITE_FILE_KEYS.includes(name)) problems.push(`${at(key)}write_files knows no "${name}"`);
    // 0644 without quotes is a number, and another one than was meant.
    if (name === 'permissions' && isScalar(value) && typeof value.value !== 'string') {
      problems.push(`${at(value)}permissions must be in quotes`);
    }
  }
  return problems;
}
