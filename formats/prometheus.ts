/** One line of the text format that Prometheus and OpenMetrics readers take: a name, labels, a number. */
export interface Sample {
  name: string;
  labels?: Readonly<Record<string, string>>;
  value: number;
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricFamily {
  name: string;
  type: MetricType;
  help: string;
  samples: readonly Sample[];
}

export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function encodeMetrics(families: readonly MetricFamily[]): string {
  return families
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => `${sample.name}${labelsOf(sample.labels)} ${sample.value}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function labelsOf(labels: Sample['labels']): string {
  const entries = Object.entries(labels ?? {});
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
