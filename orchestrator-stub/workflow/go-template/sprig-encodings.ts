import { createHash } from 'node:crypto';
import { parse as parseYaml } from 'yaml';
import { fromBytes, quoteGo } from '../../../formats/go-text.ts';
import { CallError, fail } from './errors.ts';
import { fromJson, fromPlain, jsonText } from './go-json.ts';
import { yamlText } from './go-yaml-text.ts';
import { isRegex, regex, replaceTemplate } from './regex.ts';
import { integer, type TemplateFunction, takes, takesTexts, text } from './signature.ts';
import { List, type Value } from './values.ts';

const hash = (algorithm: string) =>
  takesTexts((all) => createHash(algorithm).update(Buffer.from(all, 'latin1')).digest('hex'));

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: string): string {
  const bits = [...bytes].map((byte) => byte.charCodeAt(0).toString(2).padStart(8, '0')).join('');
  const digits = bits.match(/.{1,5}/g) ?? [];
  const text = digits.map((each) => BASE32[Number.parseInt(each.padEnd(5, '0'), 2)]).join('');
  return text.padEnd(Math.ceil(text.length / 8) * 8, '=');
}

/** What is no base64 gives Go's error as the text: sprig does so. */
function decodeBase64(given: string): string {
  const all = given.replaceAll(/[\r\n]/g, '');
  const bad = wrongDigit(all, /[A-Za-z0-9+/]/, 4, [2, 3]);
  if (bad !== undefined) return `illegal base64 data at input byte ${originalOffset(given, bad)}`;
  return Buffer.from(all, 'base64').toString('latin1');
}

function decodeBase32(given: string): string {
  const all = given.replaceAll(/[\r\n]/g, '');
  const bad = wrongDigit(all, /[A-Z2-7]/, 8, [2, 4, 5, 7]);
  if (bad !== undefined) return `illegal base32 data at input byte ${bad}`;
  const bits = [...all.replaceAll('=', '')]
    .map((digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0'))
    .join('');
  return (bits.match(/.{8}/g) ?? []).map((byte) => String.fromCharCode(Number.parseInt(byte, 2))).join('');
}

/** Where a decoder of groups stops: an invalid digit, padding at the wrong place, or an end too early. */
function wrongDigit(all: string, digit: RegExp, group: number, ends: readonly number[]): number | undefined {
  const body = /^[^=]*/.exec(all)?.[0] ?? '';
  for (const [at, each] of [...body].entries()) if (!digit.test(each)) return at;
  const rest = body.length % group;
  const padding = all.slice(body.length);
  if (rest === 0) return padding === '' ? undefined : body.length;
  if (padding === '') return all.length - rest;
  if (!ends.includes(rest)) return body.length;
  const wanted = group - rest;
  if (padding.length === wanted && /^=*$/.test(padding)) return undefined;
  const wrong = [...padding].findIndex((each) => each !== '=');
  if (wrong !== -1 && wrong < wanted) return body.length + wrong;
  return padding.length < wanted ? all.length : body.length + wanted;
}

function originalOffset(given: string, at: number): number {
  let left = at;
  for (let offset = 0; offset < given.length; offset++) {
    if (given[offset] === '\n' || given[offset] === '\r') continue;
    if (left-- === 0) return offset;
  }
  return given.length;
}

function adler32(bytes: string): string {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte.charCodeAt(0)) % 65521;
    b = (b + a) % 65521;
  }
  return String(((b << 16) | a) >>> 0);
}

function orEmpty(make: () => string): string {
  try {
    return make();
  } catch {
    return '';
  }
}

/** The function that panics has the pattern in its complaint, the one that gives an error has not. */
function withMust(name: string, made: TemplateFunction): [string, TemplateFunction][] {
  const panics: TemplateFunction = {
    ...made,
    call: (pattern, ...args) => {
      compileOrPanic(text(pattern));
      return made.call(pattern ?? '', ...args);
    },
  };
  return [
    [name, panics],
    [`must${name.charAt(0).toUpperCase()}${name.slice(1)}`, made],
  ];
}

function compileOrPanic(pattern: string): void {
  try {
    regex(pattern);
  } catch (thrown) {
    if (!(thrown instanceof CallError)) throw thrown;
    fail(
      `regexp: Compile(${pattern.includes('`') ? quoteGo(pattern) : `\`${pattern}\``}): ${thrown.message}`,
    );
  }
}

const foundTexts = (all: readonly string[]) => new List([...all], 'string', all.length === 0);

const REGEX_FUNCTIONS: Record<string, TemplateFunction> = Object.fromEntries([
  ...withMust(
    'regexFind',
    takesTexts((pattern, all) => regex(pattern).matches(all, 1)[0]?.[0] ?? ''),
  ),
  ...withMust(
    'regexFindAll',
    takes('string string int', (pattern, all, count) =>
      foundTexts(
        regex(text(pattern))
          .matches(text(all), integer(count))
          .map(([whole]) => whole ?? ''),
      ),
    ),
  ),
  ...withMust(
    'regexReplaceAll',
    takesTexts((pattern, all, fresh) =>
      regex(pattern).replace(all, (groups, names) => replaceTemplate(fresh, groups, names)),
    ),
  ),
  ...withMust(
    'regexReplaceAllLiteral',
    takesTexts((pattern, all, fresh) => regex(pattern).replace(all, () => fresh)),
  ),
  ...withMust(
    'regexSplit',
    takes('string string int', (pattern, all, count) =>
      // Go gives a slice that was never made if none is asked for.
      foundTexts(regex(text(pattern)).split(text(all), integer(count))),
    ),
  ),
]);

const json = (options: { isPretty?: boolean; escapesHtml?: boolean }) => ({
  lenient: takes('any', (value = null) => orEmpty(() => jsonText(value, options))),
  strict: takes('any', (value = null) => jsonText(value, options)),
});
const [compact, pretty, raw] = [json({}), json({ isPretty: true }), json({ escapesHtml: false })];

export const ENCODING_FUNCTIONS: Record<string, TemplateFunction> = {
  ...REGEX_FUNCTIONS,
  mustRegexMatch: takesTexts((pattern, all) => regex(pattern).matches(all, 1).length > 0),
  // An invalid pattern matches nothing: sprig drops the error here, and only here.
  regexMatch: takesTexts((pattern, all) => isRegex(pattern) && regex(pattern).matches(all, 1).length > 0),
  regexQuoteMeta: takesTexts((all) => all.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')),
  b64enc: takesTexts((all) => Buffer.from(all, 'latin1').toString('base64')),
  b64dec: takesTexts(decodeBase64),
  b32enc: takesTexts(base32),
  b32dec: takesTexts(decodeBase32),
  sha1sum: hash('sha1'),
  sha256sum: hash('sha256'),
  sha512sum: hash('sha512'),
  adler32sum: takesTexts(adler32),
  toJson: compact.lenient,
  mustToJson: compact.strict,
  toPrettyJson: pretty.lenient,
  mustToPrettyJson: pretty.strict,
  toRawJson: raw.strict,
  mustToRawJson: raw.strict,
  fromJson: takesTexts((all) => fromJson(all) ?? null),
  mustFromJson: takesTexts((all) => {
    const value = fromJson(all);
    return value === undefined ? fail('invalid character in JSON') : value;
  }),
  toYaml: takes('any', (value = null) => yamlText(value)),
  fromYaml: takesTexts((all) => (all === '' ? fail('fromYaml: empty YAML input') : readYaml(fromBytes(all)))),
};

/** What JSON.stringify makes of the bytes of `!!binary` before it asks. */
function binaryAsText(_key: string, value: unknown): unknown {
  const bytes = value as { type?: unknown; data?: unknown } | null;
  return bytes?.type === 'Buffer' && Array.isArray(bytes.data)
    ? Buffer.from(bytes.data as number[]).toString()
    : value;
}

/** YAML 1.1, as sigs.k8s.io/yaml reads it; everything goes through JSON there. */
function readYaml(all: string): Value {
  try {
    const value: unknown = parseYaml(all, {
      version: '1.1',
      merge: true,
      logLevel: 'error',
      maxAliasCount: 10_000,
    });
    return fromPlain(JSON.parse(JSON.stringify(value ?? null, binaryAsText)) as unknown);
  } catch (thrown) {
    return fail(`fromYaml: ${thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : 'not YAML'}`);
  }
}
