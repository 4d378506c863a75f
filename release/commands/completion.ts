import type { Command } from 'commander';
import { shellQuote } from '../../system/shell-quote.ts';
import { listCommands, optionNames } from './whole-program.ts';

/** How bash and zsh follow the words that were typed so far down to a command: `at` is "kindling node list" in the end. */
function followWords(program: Command, typed: string): string {
  const known = listCommands(program).filter(({ words }) => words !== program.name());
  return `  local at=${program.name()} word
  for word in ${typed}; do
    case "$at $word" in
      ${known.map(({ words }) => shellQuote(words)).join(' | \\\n      ')}) at="$at $word" ;;
    esac
  done`;
}

/** Completion for bash: commands, then options, then files. */
export function bashCompletion(program: Command): string {
  const cases = listCommands(program).map(({ words, command }) => {
    const next = [...command.commands.map((below) => below.name()), ...optionNames(command)];
    return `    ${shellQuote(words)}) known=${shellQuote(next.join(' '))} ;;`;
  });
  return `# bash completion of kindling, made from its table of commands
_kindling() {
  local known=""
${followWords(program, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$at" in
${cases.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$known" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o bashdefault -o default -F _kindling kindling
`;
}

/** Completion for zsh: the same, with what each command and option does. */
export function zshCompletion(program: Command): string {
  const cases = listCommands(program).map(({ words, command }) => {
    const next = [
      ...command.commands.map((below) => `${below.name()}:${below.description()}`),
      ...command.options.map(({ long, description }) => `${long}:${description}`),
    ];
    return `    ${shellQuote(words)}) known=(${next.map(shellQuote).join(' ')}) ;;`;
  });
  return `#compdef kindling
# zsh completion of kindling, made from its table of commands
_kindling() {
  local -a known
${followWords(program, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$at" in
${cases.join('\n')}
  esac
  _describe -o kindling known || _files
}
_kindling "$@"
`;
}

/** Completion for fish. */
export function fishCompletion(program: Command): string {
  const lines = listCommands(program).flatMap(({ words, command }) => {
    const [, ...path] = words.split(' ');
    const here =
      path.length === 0
        ? '__fish_use_subcommand'
        : path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    const when = `complete -c kindling -n ${fishQuote(here)}`;
    return [
      ...command.commands.map((below) => `${when} -a ${below.name()} -d ${fishQuote(below.description())}`),
      ...command.options.map(
        ({ long, description, required }) =>
          `${when} -l ${long?.slice(2)} -d ${fishQuote(description)}${required ? ' -r' : ''}`,
      ),
    ];
  });
  return `# fish completion of kindling, made from its table of commands\n${lines.join('\n')}\n`;
}

/** In fish, a quote inside of quotes is escaped; sh closes and opens them. */
function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
