import { readFileSync } from 'node:fs';
import { type Command, CommanderError, type Option } from 'commander';
import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from 'yaml';
import { KindlingError } from '../protocol/error.ts';
import { closestName } from '../system/closest-name.ts';

const CONFIG = 'config';

/**
 * Lets a command take its options from a YAML file too: each key is the long name of an option, a list is an option that may be
 * repeated. What is on the command line counts more than the file.
 */
export function addConfigOption(command: Command): Command {
  return command
    .option(`--${CONFIG} <file>`, 'YAML file with these options by their long names; the command line wins')
    .hook('preAction', (_, started) => {
      const path: unknown = started.getOptionValue(CONFIG);
      if (started === command && typeof path === 'string') applyConfig(command, readConfig(path), path);
    });
}

/** The options of a command that a file may set, in the order of its help. */
export function configurableOptions(command: Command): Option[] {
  return command.options.filter((option) => keyOf(option) !== CONFIG);
}

/** The key of an option in the file: its long name. */
export function keyOf(option: Option): string {
  return option.long?.replace(/^--(no-)?/, '') ?? '';
}

export function isRepeatable(option: Option): boolean {
  return Array.isArray(option.defaultValue);
}

/** Sets every option that the text has and the command line has not. `path` is for the messages. */
export function applyConfig(command: Command, text: string, path: string): void {
  const options = configurableOptions(command);
  for (const { key, value, fail } of entriesOf(text, path)) {
    const option = options.find((candidate) => keyOf(candidate) === key.value);
    if (!option) throw fail(key, unknownKey(String(key.value), options));
    const name = option.attributeName();
    if (command.getOptionValueSource(name) === 'cli') continue;
    command.setOptionValueWithSource(name, toOptionValue(option, value, fail), 'config');
  }
}

type Fail = (node: ParsedNode | undefined, message: string) => KindlingError;
interface Entry {
  key: ParsedNode & { value: unknown };
  value: ParsedNode | undefined;
  fail: Fail;
}

function entriesOf(text: string, path: string): Entry[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const failAt = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset);
    return new KindlingError('KND_CONFIG_FILE', `${path}:${line}:${col}: ${message}`);
  };
  const [fault] = document.errors;
  if (fault) throw failAt(fault.pos[0], `not valid YAML: ${fault.message}`);
  const fail: Fail = (node, message) => failAt(node?.range[0] ?? 0, message);
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return [];
  if (!isMap<ParsedNode, ParsedNode>(root)) throw fail(root, 'expected "name: value" lines');
  return root.items.map(({ key, value }) => {
    if (!isScalar(key)) throw fail(key, 'expected the name of an option');
    return { key, value: value ?? undefined, fail };
  });
}

function toOptionValue(option: Option, node: ParsedNode | undefined, fail: Fail): unknown {
  if (option.isBoolean()) {
    if (isScalar(node) && typeof node.value === 'boolean') return node.value;
    throw fail(node, `${keyOf(option)} is true or false`);
  }
  if (!isRepeatable(option)) return parse(option, node, undefined, fail);
  const items = isSeq<ParsedNode>(node) ? node.items : [node];
  return items.reduce<unknown>((previous, item) => parse(option, item, previous, fail), []);
}

function parse(option: Option, node: ParsedNode | undefined, previous: unknown, fail: Fail): unknown {
  if (!isScalar(node) || (typeof node.value !== 'string' && typeof node.value !== 'number'))
    throw fail(node, `${keyOf(option)} needs ${isRepeatable(option) ? 'a value or a list' : 'one value'}`);
  const text = String(node.value);
  try {
    return option.parseArg ? option.parseArg(text, previous) : text;
  } catch (thrown) {
    const isExpected = thrown instanceof KindlingError || thrown instanceof CommanderError;
    throw isExpected ? fail(node, `${keyOf(option)}: ${thrown.message}`) : thrown;
  }
}

function unknownKey(key: string, options: readonly Option[]): string {
  const close = closestName(key, options.map(keyOf));
  return `there is no option ${key}${close ? `; did you mean ${close}?` : ''}`;
}

function readConfig(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new KindlingError('KND_FILE_ACCESS', `${path} cannot be read`, { cause });
  }
}
