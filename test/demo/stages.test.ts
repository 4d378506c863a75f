import { describe, expect, it } from 'vitest';
import { describeNodes } from '../../demo/demo-node.ts';
import { readDemoOptions } from '../../demo/demo-options.ts';
import { Journey } from '../../demo/journey.ts';
import { JsonView } from '../../demo/json-view.ts';
import { DemoOutput } from '../../demo/output.ts';
import { PeopleView } from '../../demo/people-view.ts';
import { renderPicture } from '../../demo/picture.ts';
import { readConsoleLine } from '../../demo/read-console.ts';
import { readStubEvent } from '../../demo/read-event.ts';
import { toHostId } from '../../protocol/ids.ts';

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
    ['[  149.059972] reboot: Restarting system', { type: 'stage', id: 'restart', detail: '' }],
    [
      "[   44.1] cloud-init[177]: Cloud-init v. 22.4.2 running 'init-local' at Mon, 16 Nov 2026",
      { type: 'stage', id: 'first-boot', detail: 'cloud-init 22.4.2' },
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

describe('an event of the orchestrator', () => {
  const netboot = { type: 'netboot', nodeId: '', client: '10.77.0.10' } as const;
  const workflow = {
    type: 'workflow',
    nodeId: toHostId('host-1'),
    workflowId: 'w',
    state: 'RUNNING',
    action: 'install-cloud-init',
    index: 3,
    total: 12,
    actionState: 'PENDING',
    message: '',
    finished: { action: 'stream-os-image', seconds: 21, message: '530 MiB in 21 s' },
  } as const;

  it.each([
    [{ ...netboot, step: 'dhcp', what: 'ipxe.efi for x86-64 UEFI', bytes: 0 } as const, 'offer'],
    [{ ...netboot, step: 'tftp', what: 'ipxe.efi', bytes: 996_864 } as const, 'ipxe'],
    [{ ...netboot, step: 'https', what: 'ipxe.efi', bytes: 996_864 } as const, 'ipxe'],
    [{ ...netboot, step: 'http', what: 'boot.ipxe', bytes: 2000 } as const, 'script'],
    [{ ...netboot, step: 'http', what: 'initramfs-x86_64', bytes: 3e7 } as const, 'micro-os'],
    [{ type: 'node', nodeId: toHostId('host-1'), change: 'running', status: 'Running' } as const, 'running'],
    [workflow, 'written'],
  ])('%j is a stage', (event, id) => {
    expect(readStubEvent(event)).toContainEqual(expect.objectContaining({ type: 'stage', id }));
  });

  it('tells what an action is doing, and that a workflow is lost', () => {
    const writing = { ...workflow, finished: null, message: 'writing image 42 % · 12 s left' };
    expect(readStubEvent(writing)).toEqual([
      { type: 'doing', text: '4/12 install-cloud-init · writing image 42 % · 12 s left' },
    ]);
    expect(readStubEvent({ ...workflow, state: 'FAILED', message: 'KND_X: no' })).toContainEqual({
      type: 'fatal',
      message: 'install-cloud-init: KND_X: no',
    });
  });

  it('that tells nothing new is no news', () => {
    expect(readStubEvent({ ...netboot, step: 'tftp', what: 'autoexec.ipxe', bytes: 9 })).toEqual([]);
    expect(readStubEvent({ type: 'node', nodeId: toHostId('x'), change: 'changed', status: '' })).toEqual([]);
  });
});

function capture(isTTY: boolean) {
  let written = '';
  const output = new DemoOutput({ isTTY, columns: 20, write: (text) => (written += text) });
  return { output, written: () => written };
}

function journeys(count: number): Journey[] {
  return describeNodes(count).map((node) => new Journey(node, `host-${node.name}`));
}

function reach(view: PeopleView | JsonView, journey: Journey): void {
  const stage = journey.reach('power', 'UEFI');
  if (stage) view.reached(journey, stage);
}

describe('the stages on the screen', () => {
  it('are one plain line each where it is not a terminal, and none comes twice', () => {
    const { output, written } = capture(false);
    using view = new PeopleView(output);
    const [journey] = journeys(1);
    if (!journey) throw new Error('one was asked for');
    view.begin([journey]);
    reach(view, journey);
    reach(view, journey);
    expect(written()).toMatch(/^✔ power on {12,}0\.0 s {3}UEFI\n$/);
    expect(journey.next).toBe('boot offer');
  });

  it('name the node where there are several', () => {
    const { output, written } = capture(false);
    using view = new PeopleView(output);
    const all = journeys(2);
    view.begin(all);
    for (const journey of all) reach(view, journey);
    expect(written()).toMatch(/^✔ node-1 +power on.*\n✔ node-2 +power on.*\n$/);
  });

  it('keep the status lines below them on a terminal, cut to its width, and take them away at the end', () => {
    const { output, written } = capture(true);
    output.status(['waiting', 'a line that is longer than the terminal']);
    output.print('done');
    output.status([]);
    expect(written()).toBe(
      'waiting\na line that is lon…\x1b[1A\r\x1b[Jdone\nwaiting\na line that is lon…\x1b[1A\r\x1b[J',
    );
    expect(output.lines.map(({ text }) => text)).toEqual(['done']);
  });

  it('are JSON objects for programs', () => {
    const lines: unknown[] = [];
    const view = new JsonView((line) => lines.push(JSON.parse(line)));
    const [journey] = journeys(1);
    if (!journey) throw new Error('one was asked for');
    view.begin([journey]);
    reach(view, journey);
    view.done([journey], 'http://here');
    expect(lines).toMatchObject([
      { event: 'begin', nodes: [{ id: 'host-node-1' }] },
      { event: 'stage', stage: 'power', node: 'node-1', detail: 'UEFI' },
      { event: 'done', nodes: [{ record: 'http://here/api/v1/nodes/host-node-1' }] },
    ]);
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
  const defaults = { nodes: '1', memory: '1024' };

  it('have defaults, and choose firmware and number of nodes', () => {
    expect(readDemoOptions(defaults)).toMatchObject({ firmware: 'ovmf', nodes: 1, isJson: false });
    expect(readDemoOptions({ ...defaults, nodes: '3', bios: true })).toMatchObject({
      firmware: 'seabios',
      nodes: 3,
    });
    expect(
      readDemoOptions({ ...defaults, immutable: true, secureBoot: true, httpsBoot: true }),
    ).toMatchObject({ firmware: 'ovmf-secure-boot', isImmutable: true, isHttpsBoot: true });
  });

  it.each([
    ['--immutable', { immutable: true }],
    ['--secure-boot', { secureBoot: true }],
    ['--https-boot', { httpsBoot: true }],
  ])('%s is refused on machines with a BIOS, with the reason', (flag, options) => {
    expect(() => readDemoOptions({ ...defaults, bios: true, ...options })).toThrowError(
      expect.objectContaining({
        exitCode: 2,
        message: expect.stringMatching(`^${flag} goes without --bios: `),
      }),
    );
  });

  it.each([
    { nodes: '0' },
    { nodes: 'many' },
    { nodes: '1.5' },
    { nodes: '1000' },
    { memory: '64' },
    { memory: 'much' },
    { json: true, console: true },
    { json: true, picture: 'x.svg' },
  ])('%j is refused', (options) => {
    expect(() => readDemoOptions({ ...defaults, ...options })).toThrowError(
      expect.objectContaining({ exitCode: 2 }),
    );
  });
});
