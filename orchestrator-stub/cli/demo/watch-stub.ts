import { KindlingError } from '../../../protocol/error.ts';
import type { KnownNode } from './summary.ts';

export interface DemoEvent {
  type: string;
  nodeId: string;
  /** What happened to a node: discovered, registered, … */
  change?: string;
  /** How the node is now, for people. */
  status?: string;
}

/** Calls `onEvent` for every event the orchestrator tells its watchers (server-sent events), until aborted. */
export async function watchEvents(
  url: string,
  onEvent: (event: DemoEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(`${url}/api/v1/events`, { signal });
  if (!response.ok || !response.body) throw answerError('/api/v1/events', response);
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const messages = text.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) {
      const data = message.split('\n').find((line) => line.startsWith('data: '));
      if (data) onEvent(JSON.parse(data.slice('data: '.length)));
    }
  }
}

export async function fetchNode(url: string, id: string): Promise<KnownNode> {
  const path = `/api/v1/nodes/${id}`;
  const response = await fetch(`${url}${path}`);
  if (!response.ok) throw answerError(path, response);
  return (await response.json()) as KnownNode;
}

function answerError(path: string, response: Response): KindlingError {
  return new KindlingError('KND_UNEXPECTED', `the orchestrator answered ${path} with ${response.status}`);
}
