import { subscribe } from 'node:diagnostics_channel';

/** Calls the server holds on purpose; how long they take says nothing about it. */
const HELD = ['/GetAction', '/OnboardNodeStream'];

/** Counts and times every HTTP and HTTP/2 request this process makes, from Node's own diagnostics; the agent is not touched. */
export function watchRequests(): { take(): { requests: number; latencies: number[] } } {
  const startedAt = new WeakMap<object, number>();
  let requests = 0;
  let latencies: number[] = [];
  const begin = (key: object) => {
    requests += 1;
    startedAt.set(key, performance.now());
  };
  const end = (key: object) => {
    const start = startedAt.get(key);
    if (start !== undefined) latencies.push(performance.now() - start);
    startedAt.delete(key);
  };
  subscribe('http.client.request.start', (message) => begin((message as { request: object }).request));
  subscribe('http.client.response.finish', (message) => end((message as { request: object }).request));
  subscribe('http2.client.stream.created', (message) => {
    const { stream, headers } = message as { stream: object; headers: Record<string, unknown> };
    begin(stream);
    if (HELD.some((name) => String(headers[':path']).endsWith(name))) startedAt.delete(stream);
  });
  subscribe('http2.client.stream.close', (message) => end((message as { stream: object }).stream));
  return {
    take() {
      const taken = { requests, latencies };
      requests = 0;
      latencies = [];
      return taken;
    },
  };
}
