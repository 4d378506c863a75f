import { describe, expect, it } from 'vitest';
import { type Repository, repositoryOf, thisRepository } from '../repository.ts';
import { documentedCommands } from './documented-commands.ts';
import { judgeCommand } from './judge-command.ts';

async function brokenCommands(repository: Repository): Promise<string[]> {
  const broken: string[] = [];
  for (const file of repository.files.filter((name) =>
    /^(README|CONTRIBUTING|SECURITY|docs\/(?!decisions\/).*)\.md$/.test(name),
  )) {
    for (const command of documentedCommands(repository.read(file))) {
      const reason = await judgeCommand(command);
      if (reason !== undefined) broken.push(`${file}:${command.line}: ${command.words.join(' ')}: ${reason}`);
    }
  }
  return broken;
}

it('every command in README and docs parses as the programs themselves parse it', async () => {
  expect(await brokenCommands(thisRepository())).toEqual([]);
});

describe('the judge of commands', () => {
  const judge = (text: string) => brokenCommands(repositoryOf({ 'README.md': text }));

  it.each([
    ['a command that does not exist', '```\nkindling nods list\n```', 'unknown command'],
    ['an option that does not exist', 'See `kindling serve --no-such-thing`.', 'unknown option'],
    ['an argument too many', '```\nkindling node list a b c\n```', 'too many arguments'],
    [
      'an argument that is missing in a code block',
      '```\nkindling node show\n```',
      'missing required argument',
    ],
    [
      'an option on a line that goes on',
      '```\nkindling node list \\\n  --no-such-thing\n```',
      'unknown option',
    ],
    ['a command behind npm', '`npm run kindling -- nods`', 'unknown command'],
    ['a script that does not exist', '`npm run everything`', 'has no script everything'],
    ['an option of the demo', '`npm run demo -- --fast`', 'unknown option'],
    ['a benchmark', '`npm run bench -- moon-flight`', 'no benchmark moon-flight'],
    ['an option of the virtual machine', '`npm run qemu -- --warp 9`', '--warp'],
  ])('finds %s', async (_, text, reason) => {
    expect(await judge(text)).toEqual([expect.stringContaining(reason)]);
  });

  it('lets a sentence leave out arguments, and lines have comments, pipes and what is optional', async () => {
    expect(
      await judge(
        '`kindling node show`\n```\nkindling node show NODE | less # one node\nkindling node watch [NODE]\n```',
      ),
    ).toEqual([]);
  });
});
