import { GO_FUNCTIONS, type TemplateFunction } from './go-functions.ts';
import { SPRIG_FUNCTIONS } from './sprig-functions.ts';
import { toText } from './values.ts';

/**
 * Which functions a template may use, and how `contains` and its like take their arguments:
 * `tink-0.10` has four functions with Go's order (text first), everything later has sprig (text last).
 */
export type Flavor = 'tink-0.10' | 'sprig';

export function functionsOf(flavor: Flavor): Record<string, TemplateFunction> {
  return flavor === 'sprig'
    ? { ...GO_FUNCTIONS, ...SPRIG_FUNCTIONS, formatPartition, netmaskToPrefixLength }
    : { ...GO_FUNCTIONS, ...TINK_0_10, formatPartition: formatPartitionLegacy };
}

const TINK_0_10: Record<string, TemplateFunction> = {
  contains: (text, part) => toText(text).includes(toText(part)),
  hasPrefix: (text, prefix) => toText(text).startsWith(toText(prefix)),
  hasSuffix: (text, suffix) => toText(text).endsWith(toText(suffix)),
};

/** The path of a partition: by-id links take «-partN», names that end in a digit «pN», others «N». */
const formatPartition: TemplateFunction = (device, number) => {
  const path = toText(device);
  if (path.startsWith('/dev/disk/')) return `${path}-part${toText(number)}`;
  return /\d$/.test(path) ? `${path}p${toText(number)}` : path + toText(number);
};

/** tink before the monorepo knew these names only and left every other device alone. */
const formatPartitionLegacy: TemplateFunction = (device, number) => {
  const path = toText(device);
  if (path.startsWith('/dev/nvme')) return `${path}p${toText(number)}`;
  return /^\/dev\/(sd|vd|xvd|hd)/.test(path) ? path + toText(number) : path;
};

const netmaskToPrefixLength: TemplateFunction = (netmask) => {
  const parts = toText(netmask).split('.').map(Number);
  const bits = parts.map((part) => part.toString(2).padStart(8, '0')).join('');
  const isMask = parts.length === 4 && parts.every((part) => part >= 0 && part <= 255) && /^1*0*$/.test(bits);
  if (!isMask) throw new Error(`invalid netmask: ${toText(netmask)}`);
  return bits.replaceAll('0', '').length;
};
