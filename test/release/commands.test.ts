import { spawnSync } from 'node:child_process';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { applyConfig } from '../../cli/config-file.ts';
import { bashCompletion, fishCompletion, zshCompletion } from '../../release/commands/completion.ts';
import { manPages } from '../../release/commands/man-page.ts';
import { loadWholeProgram } from '../../release/commands/whole-program.ts';
import { configTemplate } from '../../release/debian/config-template.ts';

let program: Command;

beforeAll(async () => {
  program = await loadWholeProgram();
});

const commandNamed = (name: string) => program.commands.find((command) => command.name() === name);

function completeInBash(...words: string[]): string[] {
  const script = `${bashCompletion(program)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kindling; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion', () => {
  it('bash knows commands, commands below them, and the options of each', () => {
    expect(completeInBash('kindling', 'mi')).toEqual(['mirror']);
    expect(completeInBash('kindling', 'node', 'lis')).toEqual(['list']);
    expect(completeInBash('kindling', 'serve', '--plain', '--plain-p')).toEqual(['--plain-port']);
    expect(completeInBash('kindling', 'frobnicate', '--plain')).toEqual([]);
  });

  it('zsh and fish have every command of the table', () => {
    for (const { name, description } of program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
    }))) {
      expect(zshCompletion(program)).toContain(`${name}:${description}`);
      expect(fishCompletion(program)).toContain(`-a ${name} -d '${description.replaceAll("'", "\\'")}'`);
    }
  });
});

describe('man pages', () => {
  it('every command has one, dated by the commit', () => {
    const pages = manPages(program, { version: '1.2.3', commit: 'abc', time: 86_400 });
    expect(pages.size).toBe(program.commands.length + 1);
    expect(pages.get('kindling-serve.1')).toContain(
      '.TH KINDLING\\-SERVE 1 "1970-01-02" "kindling 1.2.3" "User Commands"',
    );
    expect(pages.get('kindling-serve.1')).toContain('.TP\n\\fB\\-\\-port <number>\\fR\n');
  });

  it('tell no home of the person who made them', () => {
    const pages = [...manPages(program, { version: '1', commit: 'a', time: 0 }).values()].join('');
    expect(pages).toContain('(default: ~/.local/state/kindling)');
  });
});

describe('the config file of the package', () => {
  it('is read by serve as it is, and sets the state folder only', () => {
    const serve = commandNamed('serve');
    if (!serve) throw new Error('no serve');
    const text = configTemplate(serve, 'kindling', { state: '/var/lib/kindling' });
    applyConfig(serve, text, 'kindling.yaml');
    expect(serve.opts()).toMatchObject({ state: '/var/lib/kindling', port: 8443 });
    expect(parse(text)).toEqual({ state: '/var/lib/kindling' });
  });

  it.each(['serve', 'pxe'])('has every option of %s, and is YAML without its remarks', (name) => {
    const command = commandNamed(name);
    if (!command) throw new Error(`no ${name}`);
    const keys = Object.keys(parse(configTemplate(command, name, {}).replaceAll(/^#(?=[a-z-]+:)/gm, '')));
    expect(keys).toHaveLength(command.options.length - 1);
  });
});
