import { describe, expect, it } from 'vitest';
import { readDemoOptions } from '../../../../orchestrator-stub/cli/demo/demo-options.ts';
import { DemoOutput } from '../../../../orchestrator-stub/cli/demo/output.ts';
import { renderPicture } from '../../../../orchestrator-stub/cli/demo/picture.ts';
import { StageView } from '../../../../orchestrator-stub/cli/demo/stage-view.ts';
import { readConsoleLine } from '../../../../orchestrator-stub/cli/demo/stages.ts';

describe('a line of the node’s console', () => {
  it.each([
    [
      '[    0.000000] Linux version 6.1.0-54-amd64 (x@y)',
      { type: 'stage', id: 'kernel', detail: 'Linux 6.1.0-54-amd64' },
    ],
    [
      'KINDLING-STAGE {"stage":"agent","version":"0.1.0","uptime":5.1}',
      { type: 'stage', id: 'agent', detail: 'agent 0.1.0' },
    ],
    [
      '/ # KINDLING-STAGE {"stage":"network","interface":"eth0","address":"10.0.2.15","uptime":9}\r',
      { type: 'stage', id: 'network', detail: 'eth0 10.0.2.15' },
    ],
    [
      'KINDLING-STAGE {"stage":"inventory","disks":1,"nics":2,"uptime":9}',
      { type: 'stage', id: 'inventory', detail: '1 disk, 2 NICs' },
    ],
    [
      'KINDLING-NOTICE {"code":"KND_CLOCK_WRONG","message":"it was 1970","uptime":9}',
      { type: 'notice', code: 'KND_CLOCK_WRONG', message: 'it was 1970' },
    ],
    [
      'KINDLING-FATAL {"code":"KND_NET_NO_LINK","message":"no link on eth0","uptime":9}',
      { type: 'fatal', message: 'KND_NET_NO_LINK: no link on eth0' },
    ],
  ])('%s', (line, news) => {
    expect(readConsoleLine(line)).toEqual(news);
  });

  it.each([
    'hello',
    'KINDLING-STAGE {"stage":"clock","uptime":1}',
    'KINDLING-STAGE {"stage":"agent","ver[ 1.2] usb',
  ])('says nothing about the stages: %s', (line) => {
    expect(readConsoleLine(line)).toBeUndefined();
  });
});

function capture(isTTY: boolean) {
  let written = '';
  const output = new DemoOutput({ isTTY, write: (text) => (written += text) });
  return { output, written: () => written };
}

describe('the stages on the screen', () => {
  it('are one plain line each where it is not a terminal, and none comes twice', () => {
    const { output, written } = capture(false);
    using view = new StageView(output);
    view.reach('power', 'UEFI');
    view.reach('power', 'UEFI again');
    expect(written()).toMatch(/^✔ power on {12,}0\.0 s {3}UEFI\n$/);
  });

  it('keep the status line below them on a terminal, and take it away at the end', () => {
    const { output, written } = capture(true);
    output.status('waiting');
    output.print('done');
    output.status('');
    expect(written()).toBe('waiting\r\x1b[Kdone\nwaiting\r\x1b[K');
    expect(output.lines.map(({ text }) => text)).toEqual(['done']);
  });
});

describe('the picture of a run', () => {
  it('shows every line in order, never earlier than the one before, with text escaped', () => {
    const svg = renderPicture('npm run demo', [
      { text: '✔ power on', atMs: 0 },
      { text: 'a < b & c', atMs: 8000 },
    ]);
    expect(svg).toContain('a &lt; b &amp; c');
    expect([...svg.matchAll(/animation-delay:([\d.]+)s/g)].map(([, delay]) => delay)).toEqual([
      '0.00',
      '0.00',
      '2.00',
    ]);
  });
});

describe('the options', () => {
  it.each([
    { firmware: 'coreboot', memory: '512' },
    { firmware: 'ovmf', memory: 'much' },
    { firmware: 'ovmf', memory: '64' },
  ])('%j is refused', (options) => {
    expect(() => readDemoOptions(options)).toThrowError(expect.objectContaining({ exitCode: 2 }));
  });
});
