import { KindlingError } from '../../protocol/error.ts';

/** Turns the text of one setting into its value, or throws KND_CONFIG_INVALID. */
export type ParseValue<T> = (text: string, name: string) => T;

export const text: ParseValue<string> = (value) => value;

// The words Go's strconv.ParseBool knows: what the original agents accept.
const TRUE_WORDS = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE_WORDS = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

export const yesOrNo: ParseValue<boolean> = (value, name) => {
  if (value === '' || TRUE_WORDS.includes(value)) return true; // a bare word on the command line means yes
  if (FALSE_WORDS.includes(value)) return false;
  throw invalid(name, value, 'true or false');
};

export const port: ParseValue<number> = (value, name) => {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < 1 || number > 65_535)
    throw invalid(name, value, 'a port from 1 to 65535');
  return number;
};

const GO_UNITS_MS = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** A Go duration (120s, 1m30s, 500ms) in milliseconds. */
export const duration: ParseValue<number> = (value, name) => {
  if (value === '0') return 0;
  const parts = value.match(/\d+(\.\d+)?(ns|us|µs|ms|s|m|h)/g) ?? [];
  if (parts.join('') !== value || value === '')
    throw invalid(name, value, 'a duration such as 120s or 1m30s');
  return parts.reduce((total, part) => {
    const unit = part.replace(/^[\d.]+/, '') as keyof typeof GO_UNITS_MS;
    return total + Number.parseFloat(part) * GO_UNITS_MS[unit];
  }, 0);
};

export function oneOf<const W extends string>(...words: W[]): ParseValue<W> {
  return (value, name) => {
    const word = words.find((known) => known === value);
    if (word === undefined) throw invalid(name, value, `one of ${words.join(', ')}`);
    return word;
  };
}

export const url: ParseValue<string> = (value, name) => {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw invalid(name, value, 'an http:// or https:// URL');
  return value.replace(/\/+$/, '');
};

/** `http://[user:password@]host:port`, or without the scheme. The value is not repeated in the error: it may hold a password. */
export const proxyAddress: ParseValue<string> = (value, name) => {
  const address = value.includes('://') ? value : `http://${value}`;
  const isUsable = URL.canParse(address) && new URL(address).protocol === 'http:' && !/\s/.test(value);
  if (isUsable) return value;
  throw new KindlingError('KND_CONFIG_INVALID', `${name} must be a proxy such as http://proxy.example:3128`);
};

/** `worker_id` and friends go over the wire byte for byte; only their presence is checked. */
export const macAddress: ParseValue<string> = (value, name) => {
  if (!/^([0-9a-fA-F]{2}[-:]){5}[0-9a-fA-F]{2}$/.test(value)) throw invalid(name, value, 'a MAC address');
  return value;
};

/** EXTRA_HOSTS: "ip name,ip name". */
export const hostLines: ParseValue<{ ip: string; name: string }[]> = (value, name) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [ip, host] = entry.split(/\s+/);
      if (!ip || !host) throw invalid(name, value, 'a list such as "10.0.0.1 name,10.0.0.2 other"');
      return { ip, name: host };
    });

function invalid(name: string, value: string, wanted: string): KindlingError {
  return new KindlingError('KND_CONFIG_INVALID', `${name} is "${value}", but must be ${wanted}`);
}
