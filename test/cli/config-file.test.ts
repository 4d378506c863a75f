import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { applyConfig } from '../../cli/config-file.ts';
import { defineServe } from '../../cli/serve.ts';

/** `kindling serve` as it would start with this file and this command line; nothing is started. */
function optionsOf(text: string, ...args: string[]): Record<string, unknown> {
  const command = new Command('serve');
  defineServe(command);
  command.parseOptions(args);
  applyConfig(command, text, 'kindling.yaml');
  return command.opts();
}

describe('a file of options', () => {
  it('sets options by their long names: texts, numbers, flags and lists', () => {
    const options = optionsOf(
      [
        'host: 10.0.0.1',
        'port: 9443',
        'strict: true',
        'https-boot: true',
        'name: [a.example, b.example]',
      ].join('\n'),
    );
    expect(options).toMatchObject({
      host: '10.0.0.1',
      port: 9443,
      strict: true,
      httpsBoot: true,
      name: ['a.example', 'b.example'],
    });
  });

  it('takes one value where a list may be', () => {
    expect(optionsOf('name: a.example')['name']).toEqual(['a.example']);
  });

  it('gives way to the command line', () => {
    expect(optionsOf('port: 9443\nhost: 10.0.0.1', '--port', '1')).toMatchObject({
      port: 1,
      host: '10.0.0.1',
    });
  });

  it.each(['', '# only a remark\n', '---\n'])('may be empty: %j', (text) => {
    expect(optionsOf(text)['port']).toBe(8443);
  });

  it.each([
    ['host: "::"\nprot: 1', 'kindling.yaml:2:1: there is no option prot; did you mean port?'],
    ['frobnicate: 1', 'kindling.yaml:1:1: there is no option frobnicate'],
    ['config: other.yaml', 'kindling.yaml:1:1: there is no option config'],
    ['host: "::"\nport:  many', 'kindling.yaml:2:8: port: many is not a port'],
    ['log: loud', 'kindling.yaml:1:6: log: --log is one of trace'],
    ['strict: maybe', 'kindling.yaml:1:9: strict is true or false'],
    ['port: [1, 2]', 'kindling.yaml:1:7: port needs one value'],
    ['name:\n  - a\n  - {b: c}', 'kindling.yaml:3:5: name needs a value or a list'],
    ['port: true', 'kindling.yaml:1:7: port needs one value'],
    ['port: 1\nport: 2', 'kindling.yaml:2:1: not valid YAML'],
    ['- port', 'kindling.yaml:1:1: expected "name: value" lines'],
    ['port: "1', 'kindling.yaml:1:9: not valid YAML'],
  ])('says where %j is wrong', (text, message) => {
    expect(() => optionsOf(text)).toThrow(
      expect.objectContaining({ code: 'KND_CONFIG_FILE', message: expect.stringContaining(message) }),
    );
  });
});
