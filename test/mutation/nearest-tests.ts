/** The test files that reach a file by their imports, those over the fewest files first. */
export function nearestTests(imports: ReadonlyMap<string, readonly string[]>, file: string): string[] {
  const importers = new Map<string, string[]>();
  for (const [from, all] of imports) {
    for (const to of all) importers.set(to, [...(importers.get(to) ?? []), from]);
  }
  // breadth first: in the order of their distance
  const reached = new Set([file]);
  for (const each of reached) for (const importer of importers.get(each) ?? []) reached.add(importer);
  return [...reached].filter((each) => each.endsWith('.test.ts'));
}
