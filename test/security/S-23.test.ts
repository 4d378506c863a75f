import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ClockContext, setClockFromNetwork } from '../../agent/boot/clock/set-clock.ts';
import { SqliteStore } from '../../orchestrator-stub/store/sqlite-store.ts';
import { applyReport, newProgress } from '../../orchestrator-stub/workflow/workflow.ts';
import { toErrorReport } from '../../protocol/error.ts';
import { refuseSecrets } from '../../site/public-values.ts';
import { run } from '../../system/run.ts';

describe('secrets in files that everybody may read', () => {
  it.each([
    { proxies: { http: 'http://user:s3cret@proxy:911' } },
    { proxies: { https: 'user:s3cret@proxy:911' } },
    { environment: { REGISTRY_PASSWORD: 'hunter2' } },
    { environment: { http_proxy: 'http://user:s3cret@proxy:911' } },
    { additionalKernelArgs: ['https_proxy=http://user:s3cret@proxy:911'] },
    { additionalKernelArgs: ['registry_password=hunter2'] },
  ])('%j is refused, and not said again', (request) => {
    expect(() => refuseSecrets(request)).toThrow(expect.objectContaining({ code: 'KND_USAGE' }));
    expect(() => refuseSecrets(request)).not.toThrow(/hunter2|s3cret/);
  });

  it('what has no password in it goes on', () => {
    const proxies = { http: 'http://proxy:911', no: '10.0.0.0/8,.example' };
    refuseSecrets({
      proxies,
      environment: { EXTRA_HOSTS: 'a@b 10.0.0.1' },
      additionalKernelArgs: ['console=ttyS0'],
    });
  });
});

describe('the clock', () => {
  const floor = Date.parse('2026-11-01');
  it.each(['2100-01-01', '2026-10-01', '1970-01-01'])(
    'is not set to %s, even if a server says so',
    async (said) => {
      const set: number[] = [];
      const view = { line: () => {}, notice: () => {} } as Partial<
        ClockContext['view']
      > as ClockContext['view'];
      const files = {} as ClockContext['files'];
      const context = { files, view, now: () => Date.parse('2026-11-18'), floor };
      const liar = () => Promise.resolve(Date.parse(said));
      await setClockFromNetwork(
        { ...context, set: async (time) => void set.push(time) },
        { ntpServers: ['10.0.0.66'], url: 'https://10.0.0.66', ask: { ntp: liar, http: liar } },
      );
      expect(set).toEqual([]);
    },
  );
});

it('the text of a command that failed is in no report', async () => {
  const thrown = await run('sh', ['-c', 'echo "admin:hunter2" >/dev/null; exit 3'], {
    hidesArguments: true,
  }).catch((error: unknown) => error);
  expect(JSON.stringify([toErrorReport(thrown), thrown])).not.toContain('hunter2');
  expect(toErrorReport(thrown).message).toContain('sh … ended with exit code 3');
});

it('the database and what SQLite puts beside it are for their owner alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-s23-'));
  const store = new SqliteStore(join(folder, 'kindling.sqlite'), { onDefect: () => {} });
  const modes = readdirSync(folder).map((file) => (statSync(join(folder, file)).mode & 0o777).toString(8));
  await store.close();
  rmSync(folder, { recursive: true });
  expect(modes.length).toBeGreaterThan(1);
  expect(new Set(modes)).toEqual(new Set(['600']));
});

it('4 MB in a report do not stay', () => {
  const definition = { actions: [{}] } as Parameters<typeof newProgress>[0];
  const message = 'x'.repeat(4_000_000);
  const progress = applyReport(newProgress(definition), { index: 0, state: 'FAILED', message }, new Date());
  expect(JSON.stringify(progress).length).toBeLessThan(40_000);
});
