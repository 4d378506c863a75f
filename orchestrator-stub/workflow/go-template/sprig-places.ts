import {
  createCipheriv,
  createDecipheriv,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomInt,
} from 'node:crypto';
import { posix } from 'node:path';
import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import { fail } from './errors.ts';
import {
  durationText,
  parseDuration,
  parseTime,
  roundedDuration,
  secondsOf,
  timeValue,
  ZERO_TIME,
} from './go-time.ts';
import { joinUrl, parseUrl } from './go-url.ts';
import { parseVersion, satisfies, versionValue } from './semver.ts';
import { map, type TemplateFunction, takes, takesTexts, text } from './signature.ts';
import { Int, Struct, type Value } from './values.ts';

/** Paths, addresses, versions, times and keys. */
export const PLACE_FUNCTIONS: Record<string, TemplateFunction> = {
  ...both('base', takesTexts(base)),
  ...both(
    'dir',
    takesTexts((path) => clean(path.slice(0, path.lastIndexOf('/') + 1))),
  ),
  ...both('clean', takesTexts(clean)),
  ...both(
    'ext',
    takesTexts((path) => /\.[^./]*$/.exec(path)?.[0] ?? ''),
  ),
  ...both(
    'isAbs',
    takesTexts((path) => path.startsWith('/')),
  ),
  urlParse: takesTexts(parseUrl),
  urlJoin: takes('map', (parts) => joinUrl(map(parts))),
  semver: takesTexts((given) => versionValue(parseVersion(given), true)),
  semverCompare: takesTexts((constraint, version) => satisfies(constraint, () => parseVersion(version))),
  ago: takes('any', (value = null) => durationText(BigInt(Math.round(Date.now() / 1000)) - timeOf(value))),
  duration: takes('any', (value = null) => durationText(secondsFrom(value))),
  durationRound: takes('any', (value = null) => roundedDuration(nanosecondsFrom(value))),
  toDate: takesTexts((layout, all) => timeValue(parseTime(layout, all) ?? ZERO_TIME)),
  mustToDate: takesTexts((layout, all) =>
    timeValue(parseTime(layout, all) ?? fail(`parsing time "${all}" as "${layout}": cannot parse`)),
  ),
  mustDateModify: takes('string time', moved),
  must_date_modify: takes('string time', moved),
  unixEpoch: takes('time', (time) => String(secondsOf(time))),
  shuffle: takesTexts((all) => toBytes(shuffled([...fromBytes(all)]).join(''))),
  genPrivateKey: takesTexts(privateKey),
  encryptAES: takesTexts(encrypt),
  decryptAES: takesTexts(decrypt),
};

/** `base` and `osBase`: on Linux the same. */
function both(name: string, made: TemplateFunction): Record<string, TemplateFunction> {
  return { [name]: made, [`os${name.charAt(0).toUpperCase()}${name.slice(1)}`]: made };
}

function base(path: string): string {
  if (path === '') return '.';
  return posix.basename(path.replace(/\/+$/, '')) || '/';
}

function clean(path: string): string {
  if (path === '') return '.';
  const plain = posix.normalize(path);
  return plain.length > 1 ? plain.replace(/\/$/, '') : plain;
}

/** For `ago`, which reads the clock: there is no other way to say how long ago something was. */
function timeOf(value: Value): bigint {
  if (value instanceof Struct) return secondsOf(value);
  return value instanceof Int && ['int', 'int64'].includes(value.type)
    ? value.value
    : BigInt(Math.round(Date.now() / 1000));
}

function secondsFrom(value: Value): bigint {
  if (value instanceof Int && value.type === 'int64') return value.value;
  return typeof value === 'string' && /^[-+]?\d+$/.test(value) ? BigInt(value.replace('+', '')) : 0n;
}

function nanosecondsFrom(value: Value): bigint {
  if (value instanceof Int && value.type === 'int64') return value.value;
  if (value instanceof Struct)
    return (BigInt(Math.round(Date.now() / 1000)) - secondsOf(value)) * 1_000_000_000n;
  return typeof value === 'string' ? (parseDuration(fromBytes(value)) ?? 0n) : 0n;
}

function moved(duration: Value | undefined, time: Value | undefined): Value {
  const by = parseDuration(fromBytes(text(duration))) ?? fail(`time: invalid duration "${text(duration)}"`);
  return timeValue(secondsOf(time) + by / 1_000_000_000n);
}

function shuffled(runes: string[]): string[] {
  for (let at = runes.length - 1; at > 0; at--) {
    const other = randomInt(at + 1);
    [runes[at], runes[other]] = [runes[other] ?? '', runes[at] ?? ''];
  }
  return runes;
}

function privateKey(type: string): string {
  const pem = (key: KeyObject, kind: 'pkcs1' | 'sec1' | 'pkcs8') =>
    String(key.export({ type: kind, format: 'pem' }));
  switch (type) {
    case '':
    case 'rsa':
      return pem(generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey, 'pkcs1');
    case 'ecdsa':
      return pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey, 'sec1');
    case 'ed25519':
      return pem(generateKeyPairSync('ed25519').privateKey, 'pkcs8');
    default:
      return `Unknown type ${type}`;
  }
}

/** AES-256-CBC with the key cut or filled up to 32 bytes, the vector in front, all in base64. */
function encrypt(password: string, plain: string): string {
  const vector = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', keyOf(password), vector);
  return Buffer.concat([vector, cipher.update(Buffer.from(plain, 'latin1')), cipher.final()]).toString(
    'base64',
  );
}

function decrypt(password: string, encrypted: string): string {
  const bytes = Buffer.from(encrypted, 'base64');
  if (bytes.length < 32 || bytes.length % 16 !== 0) return fail('crypto/cipher: input not full blocks');
  const decipher = createDecipheriv('aes-256-cbc', keyOf(password), bytes.subarray(0, 16));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]).toString('latin1');
  } catch {
    return fail('invalid padding');
  }
}

function keyOf(password: string): Buffer {
  const key = Buffer.alloc(32);
  key.write(password, 'latin1');
  return key;
}
