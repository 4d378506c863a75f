import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { promiseFor, readRun } from '../../bench/demo.ts';
import { formatResult, formatTable } from '../../bench/format-result.ts';

function bench(...args: string[]) {
  return spawnSync(process.execPath, ['bench/main.ts', ...args], { encoding: 'utf8' });
}

describe('npm run bench', () => {
  it('lists the benchmarks when none is named', () => {
    const { stdout, status } = bench();
    expect(stdout).toMatch(/micro-os .*Micro-OS/);
    expect(status).toBe(0);
  });

  it('refuses one it does not know with exit code 2 and nothing on standard output', () => {
    const { stdout, stderr, status } = bench('warp-drive', '--json');
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
    expect(stderr).toContain('warp-drive');
  });
});

describe('the demo benchmark', () => {
  it('reads the stages of the slowest node from what the demo tells programs', () => {
    const stage = (node: string, stage: string, atMs: number) => ({
      event: 'stage',
      node,
      stage,
      atMs,
      detail: '',
    });
    const text = [
      stage('node-1', 'power', 200),
      stage('node-2', 'power', 210),
      stage('node-2', 'agent', 12_310),
      {
        event: 'done',
        nodes: [
          { name: 'node-1', powerOnToReportMs: 1000 },
          { name: 'node-2', powerOnToReportMs: 99_960 },
        ],
      },
    ]
      .map((event) => JSON.stringify(event))
      .join('\n');
    expect(readRun(`▸ something else\n${text}\n`)).toEqual({
      rows: [
        { stage: 'power on', seconds: 0.2, took: 0.2, detail: '' },
        { stage: 'Micro-OS up', seconds: 12.3, took: 12.1, detail: '' },
      ],
      reportS: 100,
    });
  });

  it.each([
    [[], 240],
    [['--secure-boot'], 300],
    [['--nodes', '3'], undefined],
  ])('judges the runs that promise a time: %j', (args, limitS) => {
    expect(promiseFor(args).limitS).toBe(limitS);
  });
});

describe('a result for people', () => {
  it('lines up columns, numbers to the right, and leaves out what a row does not have', () => {
    expect(
      formatTable([
        { what: 'kernel', MB: 8.2 },
        { what: 'initramfs', MB: 30, note: 'zstd' },
      ]),
    ).toEqual(['what        MB  note', '─────────  ───  ────', 'kernel     8.2  –', 'initramfs   30  zstd']);
  });

  it('shows which bar was missed', () => {
    const text = formatResult({
      name: 'x',
      machine: { cpu: 'c', cores: 2, memoryMb: 1, kernel: 'k', os: 'o', node: 'n', loadBefore: 0 },
      rows: [],
      bars: [
        { name: 'size', want: '≤ 50 MB', got: '60 MB', ok: false },
        { name: 'memory', want: '384 MB', got: '300 MB', ok: true },
      ],
    });
    expect(text).toContain('✘ size: 60 MB (want ≤ 50 MB)');
    expect(text).toContain('✔ memory: 300 MB (want 384 MB)');
  });
});
