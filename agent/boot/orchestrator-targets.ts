import { proxyFor } from '../../net/proxy.ts';
import type { Config } from '../config/resolve-config.ts';
import { parseEndpoint, urlOf } from '../connection/endpoint.ts';
import type { Target } from './network/reach.ts';

/** Who must be reachable for this node to get anywhere: the servers of the config, or the proxy in front of them. */
export function orchestratorTargets(config: Config): Target[] {
  const named: [string | undefined, number][] = [
    [config.server, 443],
    [config.onboardingStream, config.onboardingPort],
    [config.onboardingManager, config.onboardingPort],
    [config.tinkServer, 443],
    [config.grpcAuthority, 42113],
  ];
  const targets = named.flatMap(([name, port]) => {
    if (!name) return [];
    const isPlain = /^http:/.test(name);
    const endpoint = parseEndpoint(
      name,
      isPlain ? 'off' : 'verified',
      /^https?:/.test(name) ? undefined : port,
    );
    const proxy = proxyFor(new URL(urlOf(endpoint, '/')), config);
    if (!proxy) return [{ host: endpoint.host, port: endpoint.port }];
    return [{ host: proxy.hostname, port: Number(proxy.port) || (proxy.protocol === 'https:' ? 443 : 80) }];
  });
  return [...new Map(targets.map((target) => [`${target.host}:${target.port}`, target])).values()];
}
