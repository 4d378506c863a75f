import { describe, expect, it } from 'vitest';
import {
  capabilitiesWithin,
  runtimeSpec,
  type SpecRequest,
  workflowFolder,
} from '../../../actions/foreign/runtime-spec.ts';

type Spec = {
  process: { args: string[]; env: string[]; cwd: string; user: { uid: number; gid: number } };
  mounts: { source: string; destination: string; options?: string[] }[];
  linux: { namespaces: { type: string }[] };
};
const spec = (changes: Partial<SpecRequest> = {}) =>
  runtimeSpec({
    image: { config: { Entrypoint: ['/entry'], Cmd: ['default'], Env: ['PATH=/bin', 'A=image'] } },
    user: { uid: 0, gid: 0 },
    command: [],
    environment: {},
    container: {},
    hostname: 'h',
    capabilities: ['CAP_SYS_ADMIN'],
    exists: () => true,
    ...changes,
  }) as unknown as Spec;

describe('the container of a foreign image', () => {
  it('runs the entry point with the image’s command, or the workflow’s in its place', () => {
    expect(spec().process.args).toEqual(['/entry', 'default']);
    expect(spec({ command: ['mine', 'x'] }).process.args).toEqual(['/entry', 'mine', 'x']);
  });

  it('has the variables of the action over those of the image', () => {
    expect(spec({ environment: { A: 'mine', B: '=' } }).process.env).toEqual([
      'PATH=/bin',
      'HOSTNAME=h',
      'A=mine',
      'B==',
    ]);
  });

  it('sees the machine: devices, firmware, the worker folder, its own workflow folder', () => {
    const mounts = spec({ container: { workflowId: 'ns/wf' } }).mounts.map(
      ({ source, destination }) => `${source} ${destination}`,
    );
    expect(mounts).toEqual(
      expect.arrayContaining(['/dev /dev', '/sys /sys', '/worker /worker', '/worker/ns_wf /workflow']),
    );
    expect(workflowFolder('../../etc')).toBe('/worker/.._.._etc');
  });

  it('takes volumes, read-only where they say so, but not over the fixed mounts', () => {
    const { mounts } = spec({ container: { volumes: ['/a:/b:ro', '/c:/d', '/x:/dev', 'named:/e'] } });
    const own = mounts.filter(({ destination }) => ['/b', '/d', '/e'].includes(destination));
    expect(own.map(({ source, options }) => [source, options?.at(-1)])).toEqual([
      ['/a', 'ro'],
      ['/c', 'rw'],
    ]);
    expect(mounts.filter(({ destination }) => destination === '/dev')).toHaveLength(1);
  });

  it.each([
    ['tink-legacy', 'host', false],
    ['tink-legacy', 'anything', false],
    ['tink-legacy', '', true],
    ['tink-current', 'host', false],
    ['tink-current', 'private', true],
  ] as const)('in the %s dialect with pid "%s" a PID namespace of its own: %s', (dialect, pid, hasOwn) => {
    const { namespaces } = spec({ container: { dialect, pid } }).linux;
    expect(namespaces.some(({ type }) => type === 'pid')).toBe(hasOwn);
    expect(namespaces.some(({ type }) => type === 'network')).toBe(false);
  });

  it('runs as the user of the image', () => {
    expect(spec({ user: { uid: 10, gid: 20 } }).process.user).toEqual({
      uid: 10,
      gid: 20,
    });
  });
});

it('capabilities are those this process may have', () => {
  expect(capabilitiesWithin(0b11n | (1n << 21n))).toEqual(['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_SYS_ADMIN']);
});
