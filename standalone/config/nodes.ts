import { whyJunkText, whyJunkUuid } from '../../formats/junk-identity.ts';
import { normalizeMac } from '../../formats/mac-address.ts';
import type { Path, Report } from './issue.ts';
import { isMac } from './names.ts';
import { isTree } from './normalize.ts';
import type { Config, NodeEntry, NodeMatch } from './schema.ts';

/** The configuration of one kind of machine: the file's, with the entry of `nodes` laid over it. */
export interface EffectiveConfig {
  /** Index in `nodes`; undefined for machines that no entry names. */
  entry: number | undefined;
  match: NodeMatch;
  refuse: boolean;
  config: Config;
}

/** What each machine will get. There is always a last one, for machines that nothing names. */
export function effectiveConfigs(config: Config): EffectiveConfig[] {
  const { nodes = [], ...base } = config;
  const result: EffectiveConfig[] = [];
  nodes.forEach((node, entry) => {
    const { match, refuse = false, ...override } = node;
    if (match === undefined) return;
    result.push({ entry, match, refuse, config: overlay(base, override) as Config });
  });
  const byDefault = result.findIndex(({ match }) => match === 'default');
  const fallback = byDefault >= 0 ? result.splice(byDefault, 1) : [];
  return [...result, fallback[0] ?? { entry: undefined, match: 'default', refuse: false, config: base }];
}

/** Maps are merged, lists and single values replaced. */
function overlay(base: unknown, over: unknown): unknown {
  if (!isTree(base) || !isTree(over)) return over === undefined ? base : over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, overlay(base[key], over[key])]));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether many machines have this value, because nobody filled the field in. */
function isJunk(kind: string, value: string): boolean {
  return (kind === 'uuid' ? whyJunkUuid(value) : whyJunkText(value)) !== undefined;
}

/** CFG007: every entry names one machine, and no two the same. */
export function checkNodes(nodes: readonly NodeEntry[], report: Report): void {
  const seen = new Map<string, number>();
  nodes.forEach((node, index) => {
    const path: Path = ['nodes', index, 'match'];
    if (node.match === undefined) {
      report('CFG007', path, 'match is missing: say serial, uuid or mac, or "default"');
      return;
    }
    const keys = node.match === 'default' ? [['default', '']] : Object.entries(node.match);
    if (keys.length === 0) report('CFG007', path, 'match is empty: say serial, uuid or mac');
    for (const [kind = '', written = ''] of keys) {
      const at = kind === 'default' ? path : [...path, kind];
      const value = written.trim().toLowerCase();
      if (kind === 'uuid' && !UUID.test(value)) report('CFG007', at, `"${written}" is not a UUID`);
      else if (kind === 'mac' && !isMac(value)) report('CFG007', at, `"${written}" is not a MAC address`);
      else if (kind !== 'default' && isJunk(kind, value)) {
        report('CFG007', at, `"${written}" is a placeholder that many machines have; it names none`);
      }
      const identity = `${kind}:${kind === 'mac' ? normalizeMac(value) : value}`;
      const before = seen.get(identity);
      if (before !== undefined) report('CFG007', at, `nodes[${before}] already names this machine`);
      else seen.set(identity, index);
    }
  });
}
