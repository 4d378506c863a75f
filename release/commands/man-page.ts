import type { Command, Option } from 'commander';
import type { BuildStamp } from '../../system/build-stamp.ts';
import { defaultOf, listCommands } from './whole-program.ts';

/** Man pages by file name: kindling.1, and one for each command with all below it, as kindling-node.1. */
export function manPages(program: Command, stamp: BuildStamp): Map<string, string> {
  const pages = new Map([['kindling.1', topPage(program, stamp)]]);
  for (const command of program.commands)
    pages.set(`kindling-${command.name()}.1`, commandPage(command, stamp));
  return pages;
}

function topPage(program: Command, stamp: BuildStamp): string {
  const commands = program.commands.flatMap((command) => [
    '.TP',
    bold(`kindling-${command.name()}`) + plain('(1)'),
    plain(command.description()),
  ]);
  return page([
    title('kindling', stamp),
    section('NAME'),
    plain(`kindling - ${startSmall(program.description())}`),
    section('SYNOPSIS'),
    `${bold('kindling')} ${italic('command')} [${italic('options')}]`,
    section('DESCRIPTION'),
    plain(
      'One program for a site: the orchestrator and its page, network boot, the mirror of a remote site, ',
    ),
    plain('disk images and installer sticks. Each command has a page of its own.'),
    section('COMMANDS'),
    ...commands,
    section('FILES'),
    ...['/etc/kindling/kindling.yaml', '/var/lib/kindling'].flatMap((file, index) => [
      '.TP',
      italic(file),
      index === 0 ? 'options of the service kindling' : 'its database, the keys of the site, and artifacts',
    ]),
  ]);
}

function commandPage(command: Command, stamp: BuildStamp): string {
  const name = `kindling-${command.name()}`;
  return page([
    title(name, stamp),
    section('NAME'),
    plain(`${name} - ${startSmall(command.description())}`),
    section('SYNOPSIS'),
    ...listCommands(command, 'kindling')
      .filter(({ command: { commands } }) => commands.length === 0)
      .flatMap((each) => [`${bold(each.words)} ${plain(usageOf(each.command))}`, '.br']),
    ...listCommands(command, 'kindling').flatMap(({ words, command: each }) => [
      section(words === `kindling ${command.name()}` ? 'OPTIONS' : words.toUpperCase()),
      ...(each === command ? [] : [plain(`${each.description()}.`)]),
      ...each.registeredArguments.flatMap((argument) => [
        '.TP',
        italic(argument.name()),
        plain(argument.description || 'as the synopsis says'),
      ]),
      ...each.options.flatMap(describeOption),
      '.TP',
      bold('--help'),
      'display help',
    ]),
    section('SEE ALSO'),
    `${bold('kindling')}(1)`,
  ]);
}

function describeOption(option: Option): string[] {
  const value = defaultOf(option);
  return [
    '.TP',
    bold(option.flags),
    plain(option.description + (value === undefined ? '' : ` (default: ${value})`)),
  ];
}

function usageOf(command: Command): string {
  return command.usage().replace(' [command]', '');
}

function title(name: string, { version, time }: BuildStamp): string {
  const day = new Date(time * 1000).toISOString().slice(0, 10);
  return `.TH ${name.toUpperCase().replaceAll('-', '\\-')} 1 "${day}" "kindling ${version}" "User Commands"`;
}

function section(heading: string): string {
  return `.SH ${plain(heading)}`;
}

function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

function italic(text: string): string {
  return `\\fI${plain(text)}\\fR`;
}

/** roff takes a backslash and a dash for more than themselves, and a line that begins with a dot or a quote for a request. */
function plain(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}

function startSmall(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function page(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
