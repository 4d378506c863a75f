import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../actions/cexec/command-line.ts';

describe('a command line without interpreter', () => {
  it.each([
    ['ls -l', [['ls', '-l']]],
    ['a;b c ; d', [['a'], ['b', 'c'], ['d']]],
    ['echo "a;b c" \'d "e"\'', [['echo', 'a;b c', 'd "e"']]],
    ['echo a\\ b "\\"q\\n"', [['echo', 'a b', '"q\\n']]],
    ["echo ''", [['echo', '']]],
    ['first\nsecond', [['first'], ['second']]],
    ['  ;; ', []],
  ])('%j is split as a shell would', (text, commands) => {
    expect(parseCommandLine(text)).toEqual(commands);
  });

  it.each(['echo "a', "echo 'a", 'echo \\'])('%j is refused', (text) => {
    expect(() => parseCommandLine(text)).toThrowError(expect.objectContaining({ code: 'KND_COMMAND_LINE' }));
  });
});
