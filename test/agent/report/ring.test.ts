import { describe, expect, it } from 'vitest';
import { humanLine } from '../../../agent/report/human-line.ts';
import { createLog } from '../../../agent/report/log.ts';
import { Ring } from '../../../agent/report/ring.ts';
import { Shipper } from '../../../agent/report/ship.ts';
import { toSyslogMessage } from '../../../agent/report/syslog.ts';

const numbers = (entries: { sequence: number }[]) => entries.map(({ sequence }) => sequence);

describe('the ring of log lines', () => {
  it('numbers lines from 1 and gives what comes after a number', () => {
    const ring = new Ring();
    for (const line of ['a', 'b', 'c']) ring.push(line);
    expect(numbers(ring.after(0, 10))).toEqual([1, 2, 3]);
    expect(numbers(ring.after(1, 1))).toEqual([2]);
    expect(ring.after(3, 10)).toEqual([]);
  });

  it('forgets the oldest when it is full, and the gap shows in the numbers', () => {
    const ring = new Ring({ maxLines: 3 });
    for (let line = 1; line <= 10; line += 1) ring.push(String(line));
    expect(numbers(ring.after(2, 10))).toEqual([8, 9, 10]);
    const small = new Ring({ maxBytes: 10 });
    for (const line of ['aaaaaa', 'bbbbbb', 'cccccccccccccccc']) small.push(line);
    expect(numbers(small.after(0, 10))).toEqual([3]);
  });

  it('wakes who waits for more', async () => {
    const ring = new Ring();
    const woken = ring.moreThan(0);
    ring.push('a');
    await woken;
    await expect(ring.moreThan(1, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });

  it('is resent from the last acknowledged line after a failure, in order', async () => {
    const ring = new Ring();
    const got: number[] = [];
    let failures = 1;
    const shipper = new Shipper(ring, async (entries) => {
      if (failures-- > 0) throw new Error('away');
      got.push(...numbers([...entries]));
    });
    ring.push('a');
    ring.push('b');
    await expect(shipper.flush()).rejects.toThrow('away');
    ring.push('c');
    await shipper.flush();
    await shipper.flush();
    expect(got).toEqual([1, 2, 3]);
  });
});

describe('log lines', () => {
  it('are JSON with the fields of the child logger, and readable for people', () => {
    const ring = new Ring();
    const people: string[] = [];
    const log = createLog({ ring, level: 'info', onHumanLine: (line) => people.push(line) });
    log
      .child({ node: 'n1' })
      .child({ workflow: 'wf', action: 'write', attempt: 2 })
      .warn({ code: 'KND_X', hint: 'Do it.' }, 'slow');
    log.debug('not shown');
    expect(JSON.parse(ring.after(0, 1)[0]?.line ?? '')).toMatchObject({
      level: 'warn',
      node: 'n1',
      workflow: 'wf',
      action: 'write',
      attempt: 2,
      msg: 'slow',
    });
    expect(people).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d warn write: slow code=KND_X\n {9}next: Do it\.$/),
    ]);
  });

  it('never hold a secret that was logged by mistake', () => {
    const ring = new Ring();
    createLog({ ring, level: 'info' }).info({ grant: { clientSecret: 'hunter2', clientId: 'c' } }, 'x');
    expect(ring.after(0, 1)[0]?.line).not.toContain('hunter2');
  });

  it('that are no JSON are shown as they are', () => {
    expect(humanLine('plain text\n')).toBe('plain text');
  });

  it('fit into one datagram as syslog, line ends removed', () => {
    const line = JSON.stringify({
      time: '2026-01-01T00:00:00.000Z',
      level: 'error',
      msg: `a\nb${'x'.repeat(3000)}`,
      action: 'write image',
    });
    const message = toSyslogMessage({ sequence: 7, line }, 'node');
    expect(message.length).toBe(1400);
    expect(message.toString()).toMatch(
      /^<11>1 2026-01-01T00:00:00\.000Z node kindling-agent \d+ write_image \[meta sequenceId="7"\] a bx/,
    );
  });
});
