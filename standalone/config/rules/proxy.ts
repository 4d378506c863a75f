import { contains, overlaps, parseIp, parseNetwork } from '../addresses.ts';
import type { Path, Report } from '../issue.ts';
import { isHost } from '../names.ts';
import type { Config } from '../schema.ts';
import { k3sSpec } from './k3s-spec.ts';

const AT: Path = ['operatingSystem', 'proxy'];

/** OS104, OS105: proxies, and what must not go through them. */
export function checkProxy(config: Config, report: Report): void {
  const proxy = config.operatingSystem?.proxy;
  if (proxy === undefined) return;
  let hasProxy = false;
  for (const key of ['httpProxy', 'httpsProxy'] as const) {
    const value = proxy[key];
    if (value === undefined || value === '') continue;
    hasProxy = true;
    checkUrl(value, [...AT, key], report);
  }
  const entries = (proxy.noProxy ?? '').split(',').map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== '');
  for (const entry of given) {
    if (!isNoProxyEntry(entry)) {
      report('OS105', [...AT, 'noProxy'], `"${entry}" is not a host, .suffix, address or network`);
    }
  }
  if (hasProxy && config.kubernetes !== undefined) checkClusterIsDirect(config, given, report);
}

function checkUrl(value: string, path: Path, report: Report): void {
  const url = URL.canParse(value) && !/\s/.test(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isHost(url.hostname.replace(/^\[|\]$/g, ''))) {
    report('OS104', path, `not a URL: "${value.replace(/\/\/[^@/]*@/, '//…@')}"; expected http://host:port`);
  } else if (url.username !== '' || url.password !== '') {
    report(
      'OS104',
      path,
      'holds a user name or password in clear; everybody on the node can read it',
      'warning',
    );
  }
}

function isNoProxyEntry(entry: string): boolean {
  if (entry === '*') return true;
  if (parseNetwork(entry) !== undefined) return true;
  const host = entry.replace(/^(\*\.|\.)/, '').replace(/:\d+$/, '');
  return isHost(host);
}

/** Pods, services and the node itself must be reached directly, or the cluster never comes up behind a proxy. */
function checkClusterIsDirect(config: Config, given: string[], report: Report): void {
  if (given.includes('*')) return;
  const server = k3sSpec(config)?.serverConfig;
  const missing = ['.svc', '.cluster.local'].filter((suffix) => !given.includes(suffix));
  const networks = given.flatMap((entry) => parseNetwork(entry) ?? []);
  const loopback = parseIp('127.0.0.1');
  const isLoopbackDirect =
    given.includes('127.0.0.1') || (loopback && networks.some((network) => contains(network, loopback)));
  if (!isLoopbackDirect) missing.push('127.0.0.1');
  const ranges = `${server?.clusterCidr ?? '10.42.0.0/16'},${server?.serviceCidr ?? '10.43.0.0/16'}`.split(
    ',',
  );
  for (const range of ranges) {
    const wanted = parseNetwork(range);
    if (wanted && !networks.some((network) => overlaps(network, wanted) && network.prefix <= wanted.prefix)) {
      missing.push(range);
    }
  }
  if (missing.length > 0) {
    report(
      'OS105',
      [...AT, 'noProxy'],
      `the cluster itself would go through the proxy; add ${missing.join(',')}`,
    );
  }
}
