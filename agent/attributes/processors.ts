import type { MachineFiles } from '../../system/machine-files.ts';
import { deviceTreeList } from './device-tree.ts';
import { content, namesByBytes } from './files-in-order.ts';

const FOLDER = '/sys/devices/system/cpu';

interface Processor {
  id: number;
  cores: number;
  threads: number;
  vendor: string;
  model: string;
  capabilities: string[];
}

/** Sockets, cores and threads by the kernel's topology; names by /proc/cpuinfo. Go lists sockets in no order, we by number. */
export function readProcessors(files: MachineFiles) {
  const described = describedThreads(files.bytes('/proc/cpuinfo')?.toString('utf8') ?? '');
  const sockets = new Map<number, Processor & { seen: Set<number> }>();
  for (const thread of onlineThreads(files)) {
    const topology = `${FOLDER}/cpu${thread}/topology`;
    const id = files.number(`${topology}/physical_package_id`) ?? -1;
    const fields = described.get(thread);
    const socket = sockets.get(id) ?? (fields && { ...named(files, id, fields), seen: new Set() });
    if (!socket) continue;
    sockets.set(id, socket);
    socket.seen.add(files.number(`${topology}/core_id`) ?? -1);
    socket.threads += 1;
    socket.cores = socket.seen.size;
  }
  const processors = [...sockets.values()]
    .sort((a, b) => a.id - b.id)
    .map(({ seen: _, ...processor }) => ({ ...processor, id: Math.max(0, processor.id) }));
  const sum = (count: (processor: Processor) => number) =>
    processors.reduce((total, processor) => total + count(processor), 0);
  return { totalCores: sum(({ cores }) => cores), totalThreads: sum(({ threads }) => threads), processors };
}

function onlineThreads(files: MachineFiles): number[] {
  return namesByBytes(files, FOLDER)
    .filter((name) => /^cpu\d+$/.test(name) && content(files, `${FOLDER}/${name}/online`) !== '0')
    .map((name) => Number(name.slice(3)));
}

function named(files: MachineFiles, id: number, fields: ReadonlyMap<string, string>): Processor {
  const first = (...names: string[]) => names.map((name) => fields.get(name)).find(Boolean) ?? '';
  const isArm = fields.get('CPU implementer') === '0x41';
  const model = first('model name', 'Processor', 'cpu model', 'Model Name', 'uarch', 'machine');
  const capabilities = first('flags', 'Features', 'features');
  return {
    id,
    cores: 0,
    threads: 0,
    vendor: first('vendor_id', 'isa') || (isArm ? 'ARM' : ''),
    model: model || (deviceTreeList(files, 'compatible').at(-1) ?? ''),
    capabilities: capabilities ? capabilities.split(' ') : [],
  };
}

/** One paragraph per thread, by its number. What stands before the first thread (s390x) counts for it. */
function describedThreads(text: string): Map<number, Map<string, string>> {
  const threads = new Map<number, Map<string, string>>();
  let fields = new Map<string, string>();
  for (const line of text.split('\n').slice(0, -1)) {
    const colon = line.indexOf(':');
    if (colon >= 0) fields.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
    const number = fields.get('processor') ?? fields.get('cpu number');
    if (line.trim() !== '' || number === undefined) continue;
    threads.set(Number.parseInt(number, 10) || 0, fields);
    fields = new Map();
  }
  return threads;
}
