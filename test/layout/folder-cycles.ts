import path from 'node:path';

/** Which part of a folder a file belongs to: its sub-folder, or the file itself where it lies loose. */
function partOf(file: string): string {
  const [folder, part] = file.split('/');
  return `${folder}/${part}`;
}

/** Groups of parts of one folder that import each other in a circle, types included. */
export function findCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const edges = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    for (const target of targets) {
      const [from, to] = [partOf(file), partOf(target)];
      if (path.posix.dirname(from) !== path.posix.dirname(to) || from === to) continue;
      edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  const reached = new Map([...edges.keys()].map((part) => [part, reachableFrom(part, edges)]));
  const cycles = new Map<string, string[]>();
  for (const [part, others] of reached) {
    if (!others.has(part)) continue;
    const circle = [...others].filter((other) => reached.get(other)?.has(part)).sort();
    cycles.set(circle.join(' '), circle);
  }
  return [...cycles.values()];
}

function reachableFrom(part: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set<string>();
  const waiting = [part];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const target of edges.get(next) ?? []) {
      if (!found.has(target)) waiting.push(target);
      found.add(target);
    }
  }
  return found;
}
