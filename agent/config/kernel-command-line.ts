export interface KernelArgument {
  name: string;
  /** Empty for a bare word. */
  value: string;
}

/** Splits a kernel command line as the kernel does: at spaces, except inside double quotes. */
export function parseKernelCommandLine(line: string): KernelArgument[] {
  const words = line.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
  return words.map((word) => {
    const plain = word.replaceAll('"', '');
    const equals = plain.indexOf('=');
    return equals < 0
      ? { name: plain, value: '' }
      : { name: plain.slice(0, equals), value: plain.slice(equals + 1) };
  });
}
