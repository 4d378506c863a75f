import fc from 'fast-check';
import type { Parameter } from '../../orchestrator-stub/workflow/go-template/signature.ts';
import { functionsOf } from '../../orchestrator-stub/workflow/go-template/tinkerbell-functions.ts';

/** Functions whose outcome nobody can foretell, or that Tinkerbell does not have. */
const LEFT_OUT = new Set([
  'ago',
  'encryptAES',
  'decryptAES',
  'genPrivateKey',
  'randInt',
  'shellQuote',
  'shuffle',
  // A map in itself ends the process of Go.
  'set',
  'merge',
  'mustMerge',
  'mergeOverwrite',
  'mustMergeOverwrite',
  // Go gives these in any order.
  'keys',
  'values',
  // Parsers of their own words, and Go's own limits.
  'fromYaml',
  'call',
]);

const CONSTANTS: Record<Parameter, string[]> = {
  string: [
    '"a"',
    '"a b-c_dE"',
    '""',
    '"héllo wörld"',
    '" x "',
    '"042"',
    '"1.50"',
    '"a,b,c"',
    '.name',
    '.uni',
    '.multi',
    '"x: y"',
  ],
  int: ['0', '1', '2', '3', '-1', '12'],
  uint32: ['1'],
  float64: ['0.5', '1'],
  bool: ['true', 'false', '.yes'],
  any: [
    '1',
    '1.5',
    '"a"',
    '"7"',
    'true',
    'nil',
    '.int',
    '.float',
    '.name',
    '.list',
    '.map',
    '.nil',
    '.nums',
    '.mixed',
    '.empty',
  ],
  value: ['1', '2.0', '"a"', 'true', 'nil', '.list', '.map', '.int'],
  '[]interface {}': ['.list', '.nums', '(list 1 "a")'],
  'map[string]interface {}': ['.one', '(dict "k" 1)', '.map'],
  'sprig.certificate': ['1'],
  '*semver.Version': ['(semver "1.2.3")'],
  'time.Time': ['1'],
};

/** A call with arguments of the types it wants, mostly: one in eight is any constant at all. */
export function randomTemplates(): fc.Arbitrary<string> {
  const functions = Object.entries(functionsOf('sprig')).filter(([name]) => !LEFT_OUT.has(name));
  const everything = Object.values(CONSTANTS).flat();
  const { call } = fc.letrec<{ call: string }>((tie) => ({
    call: fc.constantFrom(...functions).chain(([name, { parameters, rest }]) => {
      const argument = (type: Parameter): fc.Arbitrary<string> =>
        fc.oneof(
          { maxDepth: 2 },
          { weight: 5, arbitrary: fc.constantFrom(...CONSTANTS[type]) },
          { weight: 1, arbitrary: fc.constantFrom(...everything) },
          { weight: 2, arbitrary: tie('call').map((inner) => `(${inner})`) },
        );
      const more = rest === undefined ? fc.constant([]) : fc.array(argument(rest), { maxLength: 3 });
      return fc
        .tuple(fc.tuple(...parameters.map(argument)), more, fc.boolean())
        .map(([own, others, isPiped]) => {
          const args = [...own, ...others];
          const last = args.at(-1);
          if (isPiped && last !== undefined && last !== 'nil')
            return `${last.replace(/^\((.*)\)$/s, '$1')} | ${[name, ...args.slice(0, -1)].join(' ')}`;
          return [name, ...args].join(' ');
        });
    }),
  }));
  return call.map((each) => `{{ ${each} }}`);
}
