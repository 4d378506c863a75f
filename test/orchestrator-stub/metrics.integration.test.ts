import { expect, test } from 'vitest';
import { RunningStub } from './running-stub.ts';

async function read(running: RunningStub): Promise<Map<string, number>> {
  const { text } = await running.api('GET', '/metrics');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  // The text format, to the letter: https://prometheus.io/docs/instrumenting/exposition_formats/
  for (const line of lines)
    expect(line).toMatch(
      /^[a-z_]+(\{[a-z]+="([^"\\\n]|\\[\\"n])*"(,[a-z]+="([^"\\\n]|\\[\\"n])*")*\})? \S+$/,
    );
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

test('nodes are counted by group and status, requests by route and answer', async () => {
  await using running = await RunningStub.start();
  for (const serial of ['A1', 'A2']) await running.api('POST', '/api/v1/nodes', { json: { serial } });
  await running.api('GET', '/api/v1/nodes/nobody');
  const metrics = await read(running);
  const nodes = [...metrics].filter(([name]) => name.startsWith('kindling_nodes{'));
  expect(nodes).toEqual([['kindling_nodes{group="waiting",status="registered"}', 2]]);
  expect(metrics.get('kindling_http_requests_total{method="POST",route="/api/v1/nodes",status="201"}')).toBe(
    2,
  );
  expect(
    metrics.get('kindling_http_requests_total{method="GET",route="/api/v1/nodes/{id}",status="404"}'),
  ).toBe(1);
  expect(metrics.get('kindling_http_request_seconds_count{route="/api/v1/nodes"}')).toBe(2);
  expect(metrics.get('kindling_http_request_seconds_bucket{route="/api/v1/nodes",le="+Inf"}')).toBe(2);
  expect(metrics.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
});

test('addresses that strangers make up are one series, whatever stands in them', async () => {
  await using running = await RunningStub.start();
  const before = (await read(running)).size;
  for (let i = 0; i < 50; i += 1) await running.api('GET', `/made-up-${i}"}%0a`, { token: null });
  const after = await read(running);
  expect(after.get('kindling_http_requests_total{method="GET",route="none",status="404"}')).toBe(50);
  // One count and one histogram of twelve buckets, a sum and a count for "none"; the same for the first reading itself.
  expect(after.size - before).toBe(2 * 15);
});

test('a watcher of events is counted while it watches', async () => {
  await using running = await RunningStub.start();
  const idle = (await read(running)).get('kindling_event_watchers') ?? Number.NaN;
  const stop = new AbortController();
  await fetch(`${running.stub.urls.http}/api/v1/events`, { signal: stop.signal });
  expect((await read(running)).get('kindling_event_watchers')).toBe(idle + 1);
  stop.abort();
});

test('nobody reads them without a token', async () => {
  await using running = await RunningStub.start({ auth: 'required' });
  expect((await running.api('GET', '/metrics', { token: null })).status).toBe(401);
});
