import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CATALOG } from '../../actions/catalog.ts';
import type { Action } from '../../actions/contract/action.ts';
import { referencePage } from '../../actions/contract/help.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ActionNames, actionText, testText } from './skeleton.ts';

const ROOT = join(import.meta.dirname, '../..');
const CATALOG_FILE = 'actions/catalog.ts';
const CONFORMANCE_FILE = 'test/actions/conformance.test.ts';
const REFERENCE_FILE = 'docs/reference/actions.md';

/** `npm run new-action -- NAME`: an action with its test and its lines in the three places that list all actions. */
export async function newAction([name = '', ...rest]: readonly string[]): Promise<string[]> {
  if (rest.length > 0) throw new KindlingError('KND_USAGE', `one name, not also ${rest.join(' ')}`);
  const names = checkName(
    name,
    CATALOG.flatMap((action) => [action.name, ...action.aliases]),
  );
  const actionFile = `actions/${name}/${name}.ts`;
  const testFile = `test/actions/${name}/${name}.test.ts`;
  const files: Record<string, string> = {
    [actionFile]: actionText(names),
    [testFile]: testText(names),
    [CATALOG_FILE]: withCatalogLine(read(CATALOG_FILE), names),
    [CONFORMANCE_FILE]: withConformanceLine(read(CONFORMANCE_FILE), name),
  };
  for (const file of [actionFile, testFile])
    if (existsSync(join(ROOT, file))) throw new KindlingError('KND_USAGE', `${file} is there already`);
  for (const [file, text] of Object.entries(files)) write(file, text);
  write(REFERENCE_FILE, referencePage([...CATALOG, await load(actionFile, names)]));
  return [...Object.keys(files), REFERENCE_FILE];
}

/** Letters, digits and dashes, as in an image name; and no name that selects another action. */
export function checkName(name: string, taken: readonly string[]): ActionNames {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    throw new KindlingError('KND_USAGE', `“${name}” is no name for an action`, {
      hint: 'Lower-case letters and digits, with dashes between words: npm run new-action -- hello-disk',
    });
  }
  if (taken.includes(name)) throw new KindlingError('KND_USAGE', `there is an action ${name} already`);
  return { name, variable: name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) };
}

/** The import goes to the others, where the formatter sorts it; the action to the end of the list. */
export function withCatalogLine(catalog: string, { name, variable }: ActionNames): string {
  return insertAfter(
    insertAfter(catalog, /^(?:import .*;\n)+/, `import { ${variable} } from './${name}/${name}.ts';\n`),
    /^export const CATALOG\b.*\[\n(?: {2}\w+,\n)+/m,
    `  ${variable},\n`,
  );
}

export function withConformanceLine(table: string, name: string): string {
  const key = name.includes('-') ? `'${name}'` : name;
  return insertAfter(
    table,
    /^const TESTS\b[\s\S]*?(?=^};\n)/m,
    `  ${key}: { killed: changesNothing, again: changesNothing },\n`,
  );
}

function insertAfter(text: string, place: RegExp, line: string): string {
  const found = place.exec(text);
  if (!found)
    throw new KindlingError(
      'KND_UNEXPECTED',
      `the place for “${line.trim()}” is not where it was (${place})`,
    );
  const end = found.index + found[0].length;
  return text.slice(0, end) + line + text.slice(end);
}

async function load(file: string, { variable }: ActionNames): Promise<Action> {
  const module = (await import(pathToFileURL(join(ROOT, file)).href)) as Record<string, Action>;
  const action = module[variable];
  if (!action) throw new KindlingError('KND_UNEXPECTED', `${file} has no ${variable}`);
  return action;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function write(file: string, text: string): void {
  mkdirSync(dirname(join(ROOT, file)), { recursive: true });
  writeFileSync(join(ROOT, file), text);
}
