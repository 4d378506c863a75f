import type { Command, Option } from 'commander';
import { configurableOptions, isRepeatable, keyOf } from '../../cli/config-file.ts';
import { defaultOf } from '../commands/whole-program.ts';

/** What a package sets instead of the default; everything else is there as a remark. */
export type PackageSettings = Record<string, string>;

/** The file of options of a service: every option of its command with its meaning. */
export function configTemplate(command: Command, unit: string, settings: PackageSettings): string {
  const options = configurableOptions(command).map((option) => {
    const key = keyOf(option);
    const setting = settings[key];
    const line =
      setting === undefined ? `#${key}: ${exampleOf(option)}` : `${key}: ${JSON.stringify(setting)}`;
    return `# ${option.description}\n${line}\n`;
  });
  return `# Options of ${unit}, by the long names that "kindling ${command.name()} --help" has.
# Take the "#" away from those that you want. A fault is told with line and column.
# After a change: systemctl restart ${unit}

${options.join('\n')}`;
}

function exampleOf(option: Option): string {
  if (option.isBoolean()) return 'true';
  const value = defaultOf(option) ?? /<(.+)>/.exec(option.flags)?.[1] ?? 'value';
  return isRepeatable(option) ? `[${value}]` : /^[\w./-]+$/.test(value) ? value : JSON.stringify(value);
}
