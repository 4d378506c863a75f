import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { KindlingError } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from '../server-connection.ts';
import { readCurrentSite } from './current-site.ts';
import { readSiteFile, type SiteObject } from './site-object.ts';
import { type Change, planChanges } from './site-plan.ts';

interface ApplyOptions extends ConnectionOptions {
  file: string[];
  dryRun?: boolean;
  prune?: string;
}

/** `kindling apply -f FILE…`: makes the site as files say, which may be kept in git. */
export function defineApply(command: Command): void {
  withConnection(command)
    .requiredOption(
      '-f, --file <file>',
      'objects of ours or of Tinkerbell in YAML, or EMF’s CSV; a folder is all of its files; may be repeated',
      (file: string, files: string[]) => [...files, file],
      [],
    )
    .option('--dry-run', 'show what would be changed, and change nothing')
    .option('--prune <label=value>', 'delete nodes and profiles with this label that no file has')
    .action(apply);
}

async function apply(options: ApplyOptions): Promise<void> {
  // 1. What is wanted.
  const { objects, notes } = readFiles(options.file);
  for (const note of notes) console.error(`note: ${note}`);
  // 2. What is there, and what must be changed.
  const connection = new ServerConnection(options);
  const prune = options.prune === undefined ? undefined : readLabel(options.prune);
  const changes = planChanges(objects, await readCurrentSite(connection), prune ? { prune } : {});
  // 3. Change it, one after the other: what fails is the last that was tried.
  for (const change of changes) {
    if (options.output === 'table') console.log(describe(change, options.dryRun ?? false));
    if (change.request && !options.dryRun) {
      const { method, path, body } = change.request;
      await connection.call(method, path, body);
    }
  }
  if (options.output === 'json')
    console.log(
      JSON.stringify(
        changes.map(({ request: _request, ...rest }) => rest),
        null,
        2,
      ),
    );
}

function readFiles(paths: readonly string[]): { objects: SiteObject[]; notes: string[] } {
  const files = paths.flatMap(filesOf).map((file) => readSiteFile(file, readText(file)));
  const hardware = new Map(files.flatMap((file) => [...file.hardware]));
  const objects = files
    .flatMap((file) => file.objects)
    .map((object) => {
      // A workflow renders with the Hardware object that stands beside it.
      const known = object.kind === 'Workflow' ? hardware.get(object.body.node) : undefined;
      return known && object.kind === 'Workflow'
        ? { ...object, body: { ...object.body, hardware: known } }
        : object;
    });
  return { objects, notes: files.flatMap(({ notes }) => notes) };
}

function filesOf(path: string): string[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder) return [path];
  return readdirSync(path)
    .filter((name) => /\.(ya?ml|json|csv)$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KindlingError('KND_SITE_FILE_INVALID', `${file} cannot be read`, { cause });
  }
}

function readLabel(text: string): { name: string; value: string } {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new KindlingError('KND_USAGE', `--prune is a label with a value, like managed-by=git, not ${text}`);
  return { name, value };
}

const PAST: Record<Change['action'], string> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  unchanged: 'unchanged',
};

function describe({ action, kind, name, differences }: Change, isDryRun: boolean): string {
  const verb = action === 'unchanged' ? PAST[action] : isDryRun ? `would be ${PAST[action]}` : PAST[action];
  return [`${kind} ${name}: ${verb}`, ...differences.map((line) => `    ${line}`)].join('\n');
}
