import type { TinkDialect } from '../../protocol/tink-dialect.ts';

/** What an image says about itself (OCI image specification: configuration). */
export interface ImageConfig {
  config?: {
    Entrypoint?: string[] | null;
    Cmd?: string[] | null;
    Env?: string[] | null;
    WorkingDir?: string;
    User?: string;
  };
}

/** What the workflow wants of the container. */
export interface ContainerRequest {
  dialect?: TinkDialect | undefined;
  workflowId?: string | undefined;
  volumes?: readonly string[];
  pid?: string | undefined;
}

export interface SpecRequest {
  image: ImageConfig;
  user: { uid: number; gid: number };
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  container: ContainerRequest;
  hostname: string;
  /** Of a privileged container: all there are. */
  capabilities: readonly string[];
  /** Whether a path exists on this machine: what is not there is not mounted. */
  exists(path: string): boolean;
}

/** <linux/capability.h>, in the order of their bits. */
const CAPABILITIES = [
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN',
  'NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME',
  'SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ',
  'PERFMON BPF CHECKPOINT_RESTORE',
]
  .flatMap((line) => line.split(' '))
  .map((name) => `CAP_${name}`);

/** All that this process itself may have (CapBnd of /proc/self/status): asking for more is an error. */
export function capabilitiesWithin(bounding: bigint): string[] {
  return CAPABILITIES.filter((_, bit) => (bounding >> BigInt(bit)) & 1n);
}

/**
 * Mounts every action gets (docs/background/emf.md#containers-of-actions); volumes that name the same places are
 * ignored, as the reference does.
 */
const FIXED = ['/sys', '/dev', '/mnt', '/lib/modules', '/lib/firmware', '/worker'] as const;

/** The OCI runtime specification of a privileged action container: host network, all devices, all capabilities. Pure. */
export function runtimeSpec(request: SpecRequest): Record<string, unknown> {
  const { image, container, environment, hostname } = request;
  const hasHostPid = container.dialect === 'tink-current' ? container.pid === 'host' : Boolean(container.pid);
  const capabilities = Object.fromEntries(
    ['bounding', 'effective', 'permitted', 'inheritable', 'ambient'].map((set) => [
      set,
      request.capabilities,
    ]),
  );
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: request.user,
      args: argumentsOf(request),
      env: environmentOf(image, { HOSTNAME: hostname, ...environment }),
      cwd: image.config?.WorkingDir || '/',
      capabilities,
    },
    root: { path: 'rootfs', readonly: false },
    mounts: mountsOf(request),
    linux: {
      namespaces: [{ type: 'mount' }, { type: 'ipc' }, ...(hasHostPid ? [] : [{ type: 'pid' }])],
      resources: { devices: [{ allow: true, access: 'rwm' }] },
    },
  };
}

function argumentsOf({ image, command }: SpecRequest): string[] {
  const entrypoint = image.config?.Entrypoint ?? [];
  return [...entrypoint, ...(command.length > 0 ? command : (image.config?.Cmd ?? []))];
}

function environmentOf(image: ImageConfig, own: Readonly<Record<string, string>>): string[] {
  const fromImage = (image.config?.Env ?? []).filter(
    (line) => !(line.split('=')[0] ?? '') || !((line.split('=')[0] ?? '') in own),
  );
  const path =
    fromImage.some((line) => line.startsWith('PATH=')) || 'PATH' in own
      ? []
      : ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  return [...path, ...fromImage, ...Object.entries(own).map(([name, value]) => `${name}=${value}`)];
}

function mountsOf({ container, exists }: SpecRequest): unknown[] {
  const bind = (source: string, destination: string, mode = 'rw') => ({
    type: 'bind',
    source,
    destination,
    options: ['rbind', mode],
  });
  const workflow =
    container.workflowId === undefined ? [] : [bind(workflowFolder(container.workflowId), '/workflow')];
  const taken = new Set<string>([
    ...FIXED,
    '/workflow',
    '/proc',
    '/etc/hosts',
    '/etc/resolv.conf',
    '/dev/console',
  ]);
  const volumes = (container.volumes ?? []).flatMap((volume) => {
    const [source = '', destination = '', mode = 'rw'] = volume.split(':');
    if (!source.startsWith('/') || !destination.startsWith('/') || taken.has(destination)) return [];
    return [bind(source, destination, mode.split(',').includes('ro') ? 'ro' : 'rw')];
  });
  return [
    { type: 'proc', source: 'proc', destination: '/proc' },
    ...FIXED.filter(exists).map((place) => bind(place, place, place === '/lib/modules' ? 'ro' : 'rw')),
    ...['/etc/hosts', '/etc/resolv.conf'].filter(exists).map((place) => bind(place, place, 'ro')),
    ...workflow,
    ...volumes,
  ];
}

/** A folder of its own for each workflow; its id may contain a slash. */
export function workflowFolder(workflowId: string): string {
  return `/worker/${workflowId.replaceAll(/[^A-Za-z0-9_.-]/g, '_')}`;
}
