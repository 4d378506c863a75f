import { PROMETHEUS_CONTENT_TYPE } from '../../formats/prometheus.ts';
import type { RawRoute } from '../../net/server/route.ts';
import { type MetricsParts, readMetrics } from '../metrics/metrics.ts';

/** For Prometheus and what reads like it, which sends the token of a viewer. */
export function metricsRoute(parts: MetricsParts): RawRoute {
  return {
    method: 'GET',
    path: '/metrics',
    access: 'person',
    answer: async ({ response }) => {
      const text = await readMetrics(parts);
      response
        .writeHead(200, { 'content-type': PROMETHEUS_CONTENT_TYPE, 'cache-control': 'no-store' })
        .end(text);
    },
  };
}
