import { expect, test } from 'vitest';
import { AuditLog } from '../../../orchestrator-stub/audit/audit-log.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { toStorable } from '../../../orchestrator-stub/store/storable-text.ts';

test('a line is hashed as every engine can keep it, so that it is whole after a move to another', async () => {
  const store = new SqliteStore(':memory:', { onDefect: () => {} });
  const audit = new AuditLog(store);
  await audit.append({
    at: '2026-11-18T10:00:00.000Z',
    who: 'ann',
    role: 'operator',
    from: '127.0.0.1',
    action: 'correctNode',
    target: 'till\0\ud800 \\u0000',
    result: 'done',
  });
  const kept = await store.all<{ document: string }>('SELECT document FROM audit');
  expect(kept.map(({ document }) => toStorable(document))).toEqual(kept.map(({ document }) => document));
  expect(await audit.verify()).toMatchObject({ lines: 1, broken: null });
  expect((await audit.list({ after: 0, limit: 1 }))[0]?.target).toBe('till\ufffd\ufffd \\u0000');
  await store.close();
});
