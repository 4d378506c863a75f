/** What GRUB would start: the first entry of its configuration. */
export interface BootEntry {
  kernel: string;
  initrds: string[];
  commandLine: string;
}

/** Reads the first `linux` line and its `initrd` lines of a grub.cfg. Variables and conditions are not evaluated: generated files have neither there. */
export function firstGrubEntry(text: string): BootEntry | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.findIndex((line) => /^linux(16|efi)?\s/.test(line));
  if (start < 0) return undefined;
  const [, kernel = '', ...options] = words(lines[start] ?? '');
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('}') || line.startsWith('menuentry'));
  const initrds = (end < 0 ? rest : rest.slice(0, end))
    .filter((line) => /^initrd(16|efi)?\s/.test(line))
    .flatMap((line) => words(line).slice(1));
  return { kernel, initrds, commandLine: options.join(' ') };
}

/** Blanks separate; quotes and backslashes protect, as GRUB reads them. */
function words(line: string): string[] {
  const found = line.match(/(?:\\.|"[^"]*"|'[^']*'|[^\s"'\\])+/g) ?? [];
  return found.map((word) => word.replaceAll(/\\(.)|["']/g, '$1'));
}
