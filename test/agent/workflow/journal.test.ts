import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decideResume, Journal, type Outcome } from '../../../agent/workflow/journal.ts';
import type { Work } from '../../../agent/workflow/work.ts';

const work: Work = {
  dialect: 'tink-legacy',
  workflowId: 'ns/wf-1',
  taskId: 'os',
  actionId: 'write',
  name: 'write',
  image: 'image2disk',
  timeoutMs: 1000,
  command: [],
  volumes: [],
  environment: {},
  serverState: 'running',
};
const outcome: Outcome = { state: 'success', message: 'wrote it', startedAt: 1, stoppedAt: 2 };

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-journal-'));
  path = join(folder, 'state/journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the journal', () => {
  it('knows after a restart what was started, finished and reported', () => {
    const journal = new Journal(path);
    expect(journal.find(work)).toBeUndefined();
    expect(journal.started(work)).toBe(1);
    expect(new Journal(path).find(work)).toEqual({ attempt: 1, isReported: false });
    journal.finished(work, outcome);
    expect(new Journal(path).find(work)).toEqual({ attempt: 1, outcome, isReported: false });
    journal.reported(work);
    expect(new Journal(path).find(work)).toEqual({ attempt: 1, outcome, isReported: true });
  });

  it('counts attempts until one is reported', () => {
    const journal = new Journal(path);
    expect(journal.started(work)).toBe(1);
    expect(new Journal(path).started(work)).toBe(2);
  });

  it('survives a last line that was cut off, and lines of garbage', () => {
    new Journal(path).started(work);
    appendFileSync(path, 'garbage\n{"event":"finished","key":"[');
    expect(new Journal(path).find(work)).toEqual({ attempt: 1, isReported: false });
  });

  it('knows what is still to be run after its report, until it was begun', () => {
    const journal = new Journal(path);
    journal.started(work);
    journal.finished(work, { ...outcome, afterwards: work });
    expect(new Journal(path).pendingWork()).toBeUndefined();
    journal.reported(work);
    expect(new Journal(path).pendingWork()).toEqual(work);
    journal.begun(work);
    expect(new Journal(path).pendingWork()).toBeUndefined();
    expect(new Journal(path).find(work)).toMatchObject({ isReported: true, hasBegun: true });
  });

  it('does not mix up actions of the same name in two workflows', () => {
    const journal = new Journal(path);
    journal.started(work);
    expect(journal.find({ ...work, workflowId: 'ns/wf-2' })).toBeUndefined();
  });
});

describe('what to do about an action the server wants done', () => {
  it('that is new: run it', () => {
    expect(decideResume(work, undefined, false)).toEqual({ kind: 'run' });
  });

  it('that had ended but was not reported: report it', () => {
    const entry = { attempt: 1, outcome, isReported: false };
    for (const serverState of ['pending', 'running', 'unknown'] as const) {
      expect(decideResume({ ...work, serverState }, entry, false)).toEqual({ kind: 'report-again', outcome });
    }
  });

  it('that was reported, but the server has lost it: report it again', () => {
    const entry = { attempt: 1, outcome, isReported: true };
    expect(decideResume(work, entry, false)).toEqual({ kind: 'report-again', outcome });
  });

  it('that was reported, and the server starts anew: run it', () => {
    const entry = { attempt: 1, outcome, isReported: true };
    expect(decideResume({ ...work, serverState: 'pending' }, entry, false)).toEqual({ kind: 'run' });
  });

  it('that was running when the agent died: run it again only if that does no harm', () => {
    const entry = { attempt: 1, isReported: false };
    expect(decideResume(work, entry, true)).toEqual({ kind: 'run' });
    expect(decideResume(work, entry, false)).toEqual({ kind: 'interrupted' });
  });
});
