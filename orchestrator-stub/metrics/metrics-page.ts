import { markdownTable } from '../../formats/markdown-table.ts';
import { METRICS } from './metrics.ts';

/** docs/reference/metrics.md */
export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, { type, labels, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(' '),
    help,
  ]);
  return `# Metrics

\`GET /metrics\` answers in the text format of Prometheus. It asks for the token of a person; a viewer is
enough. This page is made from \`orchestrator-stub/metrics/metrics.ts\`. Names are added, never renamed.

\`\`\`yaml
scrape_configs:
  - job_name: kindling
    scheme: https
    tls_config: { ca_file: site-ca.crt }
    authorization: { credentials_file: viewer-token }
    static_configs: [{ targets: ["orchestrator:8443"] }]
\`\`\`

\`kindling user add prometheus --role viewer\` and \`kindling token create --for prometheus\` make the token,
and \`https://orchestrator:8443/site-ca.crt\` is the certificate. Calls over gRPC are not counted yet, only
those that are held.

${markdownTable(['metric', 'type', 'labels', 'what it is'], rows)}
`;
}
