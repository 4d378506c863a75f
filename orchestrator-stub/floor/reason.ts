import { decodeFailure } from '../../protocol/failure-text.ts';
import { type FloorReason, NODE_STATUSES, type NodeStatus } from '../../protocol/floor.ts';

const NEXT = '; next: ';

/** What an agent or the server itself said, as a sentence and its next step; the status knows a step where nothing was said. */
export function reasonOf(text: string, status: NodeStatus): FloorReason {
  const failure = decodeFailure(text);
  const said = failure?.said ?? text;
  const at = said.lastIndexOf(NEXT);
  const message = at === -1 ? said : said.slice(0, at);
  return {
    code: failure?.code ?? null,
    message: message || NODE_STATUSES[status].meaning,
    next: (at === -1 ? '' : said.slice(at + NEXT.length)) || NODE_STATUSES[status].next,
  };
}
