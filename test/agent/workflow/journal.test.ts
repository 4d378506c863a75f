import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

  it('cut off at any byte knows all that was noted before, and all that is noted from then on', () => {
    const other = { ...work, actionId: 'other' };
    const steps: ((journal: Journal) => unknown)[] = [
      (journal) => journal.started(work),
      (journal) => journal.finished(work, { ...outcome, message: 'wrote “it”\n{}' }),
      (journal) => journal.reported(work),
      (journal) => journal.started(other),
      (journal) => journal.finished(other, { ...outcome, afterwards: other, handOver: { kind: 'reboot' } }),
      (journal) => journal.reported(other),
      (journal) => journal.begun(other),
    ];
    const known = (journal: Journal) => [
      journal.find(work),
      journal.find(other),
      journal.pendingHandOver(),
      journal.pendingWork(),
    ];
    const journal = new Journal(path);
    const noted = [{ length: 0, knows: known(journal) }];
    for (const step of steps) {
      step(journal);
      noted.push({ length: statSync(path).size, knows: known(new Journal(path)) });
    }
    const whole = readFileSync(path);
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const last = noted.findLastIndex((each) => each.length <= length);
      // a line of which only the end of line is missing counts too
      const knows = [noted[last]?.knows, noted[last + 1]?.knows];
      const cut = new Journal(path);
      expect(knows, `cut off after ${length} bytes`).toContainEqual(known(cut));
      const rest = steps.slice(last);
      for (const step of rest) step(cut);
      expect(known(new Journal(path)), `cut off after ${length} bytes, then gone on`).toEqual(known(cut));
    }
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
