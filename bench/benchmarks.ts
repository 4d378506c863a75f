import type { RunBenchmark } from './benchmark.ts';

/** Every benchmark: what it tells, and the module that is loaded only when it runs. */
export const BENCHMARKS: Record<string, { summary: string; load: () => Promise<RunBenchmark> }> = {
  attest: {
    summary: 'what the proof of a machine by its TPM costs the orchestrator',
    load: async () => (await import('./attest.ts')).benchmarkAttest,
  },
  demo: {
    summary: 'how long the demo takes when everything is built',
    load: async () => (await import('./demo.ts')).benchmarkDemo,
  },
  fleet: {
    summary: '10, 100 and 1,000 agents against one stub: requests per second, latency, memory',
    load: async () => (await import('./fleet/fleet.ts')).benchmarkFleet,
  },
  'image-write': {
    summary: 'writing an image to a disk, next to the ways in use today',
    load: async () => (await import('./image-write.ts')).benchmarkImageWrite,
  },
  'micro-os': {
    summary: 'size, memory and boot time of the Micro-OS, next to its peers',
    load: async () => (await import('./micro-os.ts')).benchmarkMicroOs,
  },
  siege: {
    summary:
      '1,000 agents provision while 200 addresses without a token attack: finished, latency, memory, disk',
    load: async () => (await import('./siege/siege.ts')).benchmarkSiege,
  },
  tftp: {
    summary: 'a loader over TFTP on a link with 1 ms delay: block size, window, dnsmasq',
    load: async () => (await import('./tftp/tftp.ts')).benchmarkTftp,
  },
};
