/** The kernel command line: keys may come more than once, and the order matters. */
export interface KernelArguments {
  entries: readonly { key: string; value: string | undefined }[];
  /** The last value of a key, as the kernel itself decides; undefined if absent or without a value. */
  last(key: string): string | undefined;
  all(key: string): string[];
  has(key: string): boolean;
}

/**
 * Splits as the kernel does (lib/cmdline.c, next_arg): at white space outside double quotes; quotes around a value or the
 * whole argument are dropped. What follows a bare `--` is for init and counts as well.
 */
export function parseKernelArguments(line: string): KernelArguments {
  const entries = (line.match(/(?:"[^"]*"?|[^\s"])+/g) ?? []).map((word) => {
    const bare = word.startsWith('"') ? word.slice(1).replace(/"$/, '') : word;
    const equals = bare.indexOf('=');
    if (equals < 0) return { key: bare, value: undefined };
    return { key: bare.slice(0, equals), value: bare.slice(equals + 1).replace(/^"(.*?)"?$/, '$1') };
  });
  const all = (key: string) =>
    entries.flatMap((entry) => (entry.key === key && entry.value !== undefined ? [entry.value] : []));
  return {
    entries,
    all,
    last: (key) => all(key).at(-1),
    has: (key) => entries.some((entry) => entry.key === key),
  };
}
