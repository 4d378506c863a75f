import path from 'node:path';

/**
 * How a container runtime is called. The runtimes want to see cgroups even when they are told not to use any, and crun refuses the hybrid kind; the
 * Micro-OS mounts none. So each call gets a mount namespace of its own with an empty cgroup 2 tree in it.
 */
export function runtimeCommand(runtime: string, args: readonly string[]): [string, string[]] {
  const withoutCgroups = path.basename(runtime) === 'crun' ? ['--cgroup-manager=disabled'] : [];
  const script = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"';
  return ['unshare', ['-m', 'sh', '-c', script, 'sh', runtime, ...withoutCgroups, ...args]];
}
