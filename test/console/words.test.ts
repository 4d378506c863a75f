import { describe, expect, it } from 'vitest';
import { possibleActions, wayOn } from '../../console/words/action-table.ts';
import { bytes, many, rate } from '../../console/words/amounts.ts';
import { importSentence } from '../../console/words/import-words.ts';
import { isLabelOf, lastSix, matches, nodeTitle, scannedText } from '../../console/words/node-words.ts';
import { paceOf } from '../../console/words/pace.ts';
import { plainText } from '../../console/words/plain-text.ts';
import { floorSentence } from '../../console/words/sentence.ts';
import { sentenceCase } from '../../console/words/sentence-case.ts';
import { percentOf, segmentsOf } from '../../console/words/stages.ts';
import { ago, countdown, duration } from '../../console/words/time.ts';
import { NODE_STATUSES, type NodeStatus } from '../../protocol/floor.ts';
import { floorNode } from './floor-nodes.ts';

describe('times and amounts as people say them', () => {
  it.each([
    [0, '0 s'],
    [59.6, '1 min'],
    [72, '1 min 12 s'],
    [600, '10 min'],
    [3600, '1 h'],
    [7500, '2 h 5 min'],
    [270_000, '3 d 3 h'],
  ])('%d s last %s', (seconds, words) => expect(duration(seconds)).toBe(words));

  it.each([
    [2, 'just now'],
    [7, '5 s ago'],
    [44, '40 s ago'],
    [119, '1 min ago'],
    [7300, '2 h ago'],
  ])('%d s ago is %s', (seconds, words) => expect(ago(seconds)).toBe(words));

  it('what is left counts down like a stopwatch', () => {
    expect([20.2, 725, -3].map(countdown)).toEqual(['0:21', '12:05', '0:00']);
  });

  it('bytes are counted as on the label of a disk', () => {
    expect([999, 512_110_190_592, 16_500_000_000].map(bytes)).toEqual(['999 B', '512 GB', '16.5 GB']);
    expect(rate(412_000_000)).toBe('412 MB/s');
    expect([many(1, 'machine'), many(0, 'machine')]).toEqual(['1 machine', '0 machines']);
  });
});

describe('a machine', () => {
  it('is called by the last six of its serial, else of its MAC, else of its UUID', () => {
    expect(lastSix(floorNode())).toBe('77C0PX');
    expect(lastSix(floorNode({ serial: '--' }))).toBe('123456');
    expect(lastSix(floorNode({ serial: null, macs: [] }))).toBe('A3B4C5');
    expect(lastSix(floorNode({ serial: null, macs: [], uuid: null }))).toBe('–');
  });

  it('has its name with it, unless that is only its id', () => {
    expect(nodeTitle(floorNode())).toBe('till-101 (77C0PX)');
    expect(nodeTitle(floorNode({ name: 'host-1a2b3c4d' }))).toBe('77C0PX');
  });

  it.each(['7x-0077c0px', '7X0077C0PX', '77c0px', '52:54:00:12:34:56', '525400123456', 'till-101'])(
    'is found by its label %s',
    (label) => expect(isLabelOf(floorNode(), label)).toBe(true),
  );

  it('is not found by a part of a label, nor by nothing', () => {
    expect(['77c0p', '', ' ', '-'].map((label) => isLabelOf(floorNode(), label))).toEqual(
      Array(4).fill(false),
    );
  });

  it('fits a search when every word is somewhere in it', () => {
    expect(matches(floorNode(), 'sw1 POS')).toBe(true);
    expect(matches(floorNode(), '5254-0012')).toBe(true);
    expect(matches(floorNode(), 'sw1 kiosk')).toBe(false);
  });
});

describe('the first line', () => {
  const counts = { 'needs-hand': 3, running: 24, waiting: 1, done: 212, strangers: 1 };

  it('says how the floor is', () => {
    expect(floorSentence(counts, 521).map(({ text }) => text)).toEqual([
      '212 of 240 done',
      '3 need a hand',
      '24 running, about 9 min left',
      '1 waiting',
      '1 stranger',
    ]);
  });

  it('leaves out what there is none of, and a time that is not known', () => {
    const few = { ...counts, 'needs-hand': 0, waiting: 0, strangers: 0 };
    expect(floorSentence(few, null).map(({ text }) => text)).toEqual(['212 of 236 done', '24 running']);
    const none = { 'needs-hand': 0, running: 0, waiting: 0, done: 0, strangers: 0 };
    expect(floorSentence(none, 5)).toEqual([]);
  });
});

describe('the pace of a running node', () => {
  const at = (seconds: number) => Date.parse('2026-11-18T09:00:10.000Z') + seconds * 1000;
  const usual = { profile: 'pos', stage: 'stream-os-image', medianSeconds: 40, p95Seconds: 60, runs: 9 };

  it('is its rate and the time left', () => {
    const node = floorNode({ bytesPerSecond: 412_000_000, secondsLeft: 21 });
    expect(paceOf(node, usual, at(0))).toEqual({ pace: 'usual', text: '412 MB/s · 0:21 left' });
  });

  it('is the time it took beside the usual one, where the node does not say', () => {
    expect(paceOf(floorNode(), usual, at(1)).text).toBe('0:11 (usually 0:40)');
    expect(paceOf(floorNode(), undefined, at(1)).text).toBe('0:11');
  });

  it('is slow past the 95th percentile of its stage', () => {
    const late = floorNode({ since: '2026-11-18T08:58:10.000Z' });
    expect(paceOf(late, usual, at(0))).toEqual({ pace: 'slow', text: 'usually 40 s, now 2 min' });
    expect(paceOf(late, { ...usual, runs: 2 }, at(0)).pace).toBe('usual');
  });

  it('is silent after half a minute without a word, however slow it was', () => {
    expect(paceOf(floorNode(), usual, at(72))).toEqual({ pace: 'silent', text: 'no word for 1 min 12 s' });
    expect(paceOf(floorNode({ stage: 'first-boot' }), undefined, at(72)).pace).toBe('usual');
  });
});

describe('the bar', () => {
  const times = [10, 10, 70, 10].map((medianSeconds, index) => ({
    profile: 'pos',
    stage: `stage-${index}`,
    medianSeconds,
    p95Seconds: 100,
    runs: 5,
  }));

  it('has pieces as wide as the stages usually take', () => {
    const segments = segmentsOf(floorNode(), times);
    expect(segments.map(({ weight }) => weight)).toEqual([0.1, 0.1, 0.7, 0.1]);
    expect(segments.map(({ filled }) => filled)).toEqual([1, 1, 0.5, 0]);
    expect(percentOf(segments)).toBe(55);
  });

  it('has equal pieces while nothing is known, and none without stages', () => {
    expect(segmentsOf(floorNode(), []).map(({ weight }) => weight)).toEqual(Array(4).fill(0.25));
    expect(segmentsOf(floorNode({ stageCount: null }), times)).toEqual([]);
    expect(percentOf([])).toBe(0);
  });

  it('is full at the first boot', () => {
    expect(percentOf(segmentsOf(floorNode({ stage: 'first-boot', stageIndex: null }), times))).toBe(100);
  });
});

describe('text of a machine', () => {
  it('loses what a terminal would obey and what turns its direction, and nothing else', () => {
    expect(plainText('\u001b[31mred\u001b[0m \u202eevil\u202c <script>\u0007 é\n')).toBe(
      'red evil <script> é\n',
    );
  });

  it('is cut where nobody reads on', () => {
    expect(plainText('x'.repeat(1_000_000), 100)).toBe(`${'x'.repeat(99)}…`);
  });

  it('is a sentence of its own', () => {
    expect(sentenceCase('the image server answers 404')).toBe('The image server answers 404.');
    expect(sentenceCase('sda holds a file system')).toBe('sda holds a file system.');
    expect(sentenceCase('')).toBe('');
  });
});

describe('what can be done with a node', () => {
  const technician = ['nodes:read', 'nodes:install'];
  const operator = [...technician, 'nodes:erase'];

  it('is only what the role may do', () => {
    const failed = { status: 'failed', workflowId: 'workflow-1' } as const;
    expect(possibleActions(failed, operator)).toEqual(['retry', 'reprovision', 'deauthorize', 'delete']);
    expect(possibleActions(failed, technician)).toEqual(['retry']);
    expect(possibleActions(failed, ['nodes:read'])).toEqual([]);
  });

  it('asks for nothing of a workflow that is not there', () => {
    expect(possibleActions({ status: 'failed', workflowId: null }, technician)).toEqual([]);
  });

  it('has a button in every row that needs a hand, unless only a person at the machine can help', () => {
    const atTheMachine: NodeStatus[] = ['silent', 'mismatch'];
    for (const [status, { group }] of Object.entries(NODE_STATUSES) as [NodeStatus, { group: string }][]) {
      const node = floorNode({ status, group: NODE_STATUSES[status].group });
      const isExpected = group === 'strangers' || (group === 'needs-hand' && !atTheMachine.includes(status));
      expect(wayOn(node, operator) !== undefined, status).toBe(isExpected);
    }
  });
});

describe('a scan', () => {
  it.each([
    ['https://10.0.0.1:8443/nodes/host-0123abcd', 'host-0123abcd'],
    [' 4F7K2Q ', '4F7K2Q'],
    ['SN/nodes-7', 'SN/nodes-7'],
  ])('of %s means %s', (text, meant) => {
    expect(scannedText(text)).toBe(meant);
  });
});

describe('an import in one sentence', () => {
  const summary = {
    id: '1',
    file: 'tills.csv',
    state: 'checked',
    createdAt: '',
    createdBy: '',
    startedAt: null,
    finishedAt: null,
    total: 5,
    verdicts: { new: 2, changed: 1, same: 1, bad: 1 },
    outcomes: { registered: 0, changed: 0, unchanged: 0, failed: 0, undone: 0 },
    wanted: 4,
    done: 0,
  } as const;

  it.each([
    [{}, '1 row cannot be imported. Nothing has changed yet.'],
    [{ verdicts: { ...summary.verdicts, bad: 0 } }, 'Every row can be imported. Nothing has changed yet.'],
    [{ state: 'running', done: 3 }, '3 of 4 rows imported.'],
    [
      { state: 'done', outcomes: { registered: 1, changed: 1, unchanged: 1, failed: 1, undone: 0 } },
      'Imported: 1 registered, 1 changed, 1 without a change, 1 failed, 1 left out.',
    ],
    [{ state: 'undone' }, 'Undone: everything is as it was before the import.'],
  ] as const)('%j', (changes, sentence) => {
    expect(importSentence({ ...summary, ...changes })).toBe(sentence);
  });
});
