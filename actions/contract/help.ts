import type { Action } from './action.ts';
import type { Parameter } from './parameters.ts';

/** What `kindling-agent action` prints without a name. */
export function actionList(actions: readonly Action[]): string {
  const lines = actions.map(({ name, summary }) => `  ${name.padEnd(26)} ${summary}`);
  return `kindling-agent action <name> [--set NAME=VALUE]... [--dry-run] [-- arguments]\n\n${lines.join('\n')}\n`;
}

/** What `kindling-agent action <name> --help` prints. */
export function actionHelp(action: Action): string {
  const parameters = Object.entries(action.parameters).map(
    ([name, parameter]) =>
      `  ${name} (${describeType(parameter)})\n      ${parameter.description}\n${describeDefault(parameter, '      ')}`,
  );
  const also = action.aliases.length > 0 ? `Also known as: ${action.aliases.join(', ')}\n` : '';
  return `${action.name}: ${action.summary}\n${also}${facts(action)}\n\nVariables, from the environment or --set:\n${parameters.join('') || '  none\n'}`;
}

/** docs/reference/actions.md, whole. */
export function referencePage(actions: readonly Action[]): string {
  const contents = actions.map(({ name, summary }) => `- [\`${name}\`](#${name}): ${summary}`).join('\n');
  return `# Actions

<!-- Generated from actions/catalog.ts; test/actions/reference-page.test.ts keeps it up to date (run it with -u to write it anew). -->

An action is chosen by the last path component of the image a workflow names, whatever the registry and the tag: \`quay.io/tinkerbell/actions/image2disk:latest\`
and \`image2disk\` are the same. Variables are the workflow's \`environment\`. A variable with a wrong value fails the action before anything is touched
(\`KND_ACTION_VARIABLES\`); one the action does not know is reported in the log with the name that was probably meant. An empty value counts as “not set”.

By hand: \`kindling-agent action <name> --set NAME=VALUE\`, with \`--dry-run\` to see the plan and touch nothing.

${contents}

An image that is not in this list is pulled and run as a container, which takes the full Micro-OS. So are \`disk-partition\`, \`install-root-fs\`,
\`install-grub\`, \`post-install\` and \`cleanup\` of Tinkerbell's first examples: every site built them from scripts of its own, in which the disk, its
partitions and the layout of the mirror are written down, so there is no common contract that could be built in. \`rootio\`, \`archive2disk\` and \`grub2disk\`
do the same by variables. Of those examples only \`disk-wipe\`, which has no variables, is built in; their \`cloud-init\` has nothing in common with the one here,
which is refused without \`USER_DATA\`.

${actions.map(section).join('\n')}`;
}

function section(action: Action): string {
  const lines = Object.entries(action.parameters).map(([name, parameter]) => {
    const preset = defaultText(parameter);
    const facts =
      preset === undefined ? describeType(parameter) : `${describeType(parameter)}, default \`${preset}\``;
    return `- \`${name}\` (${facts}): ${parameter.description}.`;
  });
  const variables = lines.length > 0 ? `${lines.join('\n')}\n` : 'No variables.\n';
  const also =
    action.aliases.length > 0
      ? `Also selected by: ${action.aliases.map((name) => `\`${name}\``).join(', ')}.\n\n`
      : '';
  const notes = (action.notes ?? []).map((note) => `\n${note}\n`).join('');
  return `## ${action.name}\n\n${action.summary}. ${facts(action)}\n\n${also}${variables}${notes}`;
}

function facts(action: Action): string {
  const destroys = action.destroysData ? 'Destroys data.' : 'Destroys no data.';
  const again = action.mayRunAgain ? 'May be run again.' : 'Is not meant to be run twice.';
  return `${destroys} ${again}`;
}

function describeType(parameter: Parameter): string {
  const type = parameter.type === 'choice' ? parameter.choices.join(' | ') : parameter.type;
  return [type, parameter.required ? 'required' : '', parameter.secret ? 'secret' : '']
    .filter(Boolean)
    .join(', ');
}

function defaultText(parameter: Parameter): string | undefined {
  if (parameter.type === 'flag' || parameter.default === undefined) return undefined;
  return parameter.type === 'octal' ? `0${parameter.default.toString(8)}` : String(parameter.default);
}

function describeDefault(parameter: Parameter, indent: string): string {
  const text = defaultText(parameter);
  return text === undefined ? '' : `${indent}default: ${text}\n`;
}
