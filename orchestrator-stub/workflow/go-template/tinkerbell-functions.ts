import { isIPv4, isIPv6 } from 'node:net';
import { fail } from './errors.ts';
import { GO_FUNCTIONS } from './go-functions.ts';
import { integer, type TemplateFunction, takes, takesTexts, text } from './signature.ts';
import { DATA_FUNCTIONS } from './sprig-data.ts';
import { ENCODING_FUNCTIONS } from './sprig-encodings.ts';
import { NUMBER_FUNCTIONS } from './sprig-numbers.ts';
import { PLACE_FUNCTIONS } from './sprig-places.ts';
import { TEXT_FUNCTIONS } from './sprig-text.ts';

/**
 * Which functions a template may use, and how `contains` and its like take their arguments:
 * `tink-0.10` has four functions with Go's order (text first), everything later has sprig (text last).
 */
export type Flavor = 'tink-0.10' | 'sprig';

export function functionsOf(flavor: Flavor): Record<string, TemplateFunction> {
  return flavor === 'sprig' ? CURRENT : TINK_0_10;
}

/** What Tinkerbell has and we have not, and why. A template that uses one is refused when it is saved. */
export const ABSENT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    bcrypt: 'hash passwords where they are made, not in a template that anybody may read',
    htpasswd: 'as bcrypt',
    derivePassword: 'a password that can be computed from a template protects nothing',
    buildCustomCert: 'certificates come from the site’s CA, with their life and revocation',
    genCA: 'as buildCustomCert',
    genCAWithKey: 'as buildCustomCert',
    genSelfSignedCert: 'as buildCustomCert',
    genSelfSignedCertWithKey: 'as buildCustomCert',
    genSignedCert: 'as buildCustomCert',
    genSignedCertWithKey: 'as buildCustomCert',
  }),
);

const LEGACY_PARTITION = takes('string int', (device, number) => {
  const path = text(device);
  if (path.startsWith('/dev/nvme')) return `${path}p${integer(number)}`;
  // tink before the monorepo knew these names only and left every other device alone.
  return /^\/dev\/(sd|vd|xvd|hd)/.test(path) ? path + integer(number) : path;
});

const TINK_0_10: Record<string, TemplateFunction> = {
  ...GO_FUNCTIONS,
  contains: takesTexts((all, part) => all.includes(part)),
  hasPrefix: takesTexts((all, prefix) => all.startsWith(prefix)),
  hasSuffix: takesTexts((all, suffix) => all.endsWith(suffix)),
  formatPartition: LEGACY_PARTITION,
};

const CURRENT: Record<string, TemplateFunction> = {
  ...GO_FUNCTIONS,
  ...TEXT_FUNCTIONS,
  ...NUMBER_FUNCTIONS,
  ...DATA_FUNCTIONS,
  ...ENCODING_FUNCTIONS,
  ...PLACE_FUNCTIONS,
  // The path of a partition: by-id links take "-partN", names that end in a digit "pN", others "N".
  formatPartition: takes('string int', (device, number) => {
    const path = text(device);
    if (path.startsWith('/dev/disk/')) return `${path}-part${integer(number)}`;
    return /\d$/.test(path) ? `${path}p${integer(number)}` : path + integer(number);
  }),
  netmaskToPrefixLength: takesTexts(prefixLength),
};

/** A text, as there; what is an address but no netmask is "0". */
function prefixLength(netmask: string): string {
  const embedded = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(netmask)?.[1] ?? netmask;
  if (!isIPv4(embedded))
    return fail(isIPv6(netmask) ? `netmask must be IPv4: ${netmask}` : `invalid netmask format: ${netmask}`);
  const bits = embedded
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits) ? String(bits.replaceAll('0', '').length) : '0';
}
