import type { FloorChange, FloorNode, FloorPage, FloorSummary } from '../../protocol/floor.ts';
import { call, Problem } from '../api/call.ts';
import { readEvents } from '../api/events.ts';
import { learnServerTime } from './clock.ts';
import { applyChanges, lastMove, link, replaceAll, summary } from './floor-state.ts';
import { beforeNextFrame } from './next-frame.ts';
import { pause } from './pause.ts';

const ROWS_PER_CALL = 500;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;
/** Rates and times left change with every machine that moves; asking once in a while is enough. */
const SUMMARY_EVERY_MS = 5000;

/**
 * Keeps the floor true until the signal: 1 the first line, with the id of the last event it knows  2 every row  3 every change
 * after that id. When the server goes away the page keeps what it has, says since when, and begins again at 1: a server that
 * was restarted does not have the events of before.
 */
export async function followFloor(signal: AbortSignal): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const first = await call<FloorSummary>('GET', '/api/v1/floor', { signal });
      const nodes = await listAll(signal);
      summary.value = first;
      replaceAll(nodes);
      link.value = { kind: 'live' };
      pauseMs = FIRST_PAUSE_MS;
      await followChanges(first.eventId, signal);
    } catch (reason) {
      if (signal.aborted || (reason instanceof Problem && reason.status === 401)) return;
      if (isRefusal(reason)) link.value = { kind: 'refused', why: reason.message };
      else if (link.peek().kind !== 'away') link.value = { kind: 'away', sinceMs: Date.now() };
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
}

/** It is there, and does not let us: waiting changes nothing, but an admin may. */
function isRefusal(reason: unknown): reason is Problem {
  return reason instanceof Problem && reason.status >= 400 && reason.status < 500;
}

async function listAll(signal: AbortSignal): Promise<FloorNode[]> {
  const nodes: FloorNode[] = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: FloorPage = await call('GET', `/api/v1/nodes?sort=created&limit=${ROWS_PER_CALL}${after}`, {
      signal,
    });
    nodes.push(...page.nodes);
    cursor = page.cursor;
  } while (cursor !== null);
  return nodes;
}

async function followChanges(eventId: number, signal: AbortSignal): Promise<never> {
  const waiting: FloorChange[] = [];
  const summaries = new AbortController();
  const isOver = AbortSignal.any([signal, summaries.signal]);
  keepSummary(isOver).catch(() => {}); // the stream notices by itself that the server is gone
  try {
    for await (const { type, data } of readEvents(`/api/v1/events?types=floor&after=${eventId}`, signal)) {
      if (type === 'missed') throw new Error('events between the list and now are no longer kept');
      if (type !== 'floor') continue;
      const change = JSON.parse(data) as FloorChange & { at: string };
      learnServerTime(Date.parse(change.at));
      waiting.push(change);
      if (waiting.length === 1) beforeNextFrame(() => applyChanges(waiting.splice(0)));
    }
    throw new Error('the stream of events has ended');
  } finally {
    summaries.abort();
  }
}

async function keepSummary(signal: AbortSignal): Promise<void> {
  let drawn = lastMove.peek();
  while (!signal.aborted) {
    await pause(SUMMARY_EVERY_MS, signal);
    if (lastMove.peek() === drawn) continue;
    drawn = lastMove.peek();
    summary.value = await call<FloorSummary>('GET', '/api/v1/floor', { signal });
  }
}
