import { parseDocument } from 'yaml';
import { KindlingError } from '../../protocol/error.ts';
import { isTree } from '../config/normalize.ts';

/** Today's config file as data: shell assignments above, YAML below. */
export interface HybridFile {
  assignments: Map<string, string>;
  yaml: Record<string, unknown>;
  notes: string[];
}

/**
 * Reads the file without running it (today's tools source it as root). The YAML part starts at the first line that is a
 * top-level YAML key; above it, every line is an assignment or a comment.
 */
export function readHybridFile(text: string): HybridFile {
  const lines = text.split(/\r?\n/);
  const isYamlStart = (line: string) => /^(services|write_files|runcmd)\s*:/.test(line);
  const split = lines.findIndex(isYamlStart);
  const upper = split < 0 ? lines : lines.slice(0, split);
  const notes: string[] = [];
  const assignments = new Map<string, string>();
  upper.forEach((line, index) => {
    const written = line.trim().replace(/^export\s+/, '');
    if (written === '' || written.startsWith('#') || written === '---') return;
    const [, key, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(written) ?? [];
    if (key === undefined || value === undefined) {
      notes.push(`line ${index + 1} is neither an assignment nor a comment; left out: ${written}`);
      return;
    }
    if (/\$\(|`|\$\{|\$[A-Za-z_]/.test(value) && !value.startsWith("'")) {
      notes.push(`${key} used shell expansion, which is not carried over; it is copied as text`);
    }
    assignments.set(key, unquote(value));
  });
  return { assignments, yaml: split < 0 ? {} : readYaml(lines, split), notes };
}

function readYaml(lines: string[], start: number): Record<string, unknown> {
  // Blank lines keep the line numbers of messages those of the whole file.
  const document = parseDocument('\n'.repeat(start) + lines.slice(start).join('\n'));
  const error = document.errors[0];
  if (error !== undefined) {
    throw new KindlingError(
      'KND_STANDALONE_CONFIG_INVALID',
      `the YAML part of the old file: ${error.message}`,
    );
  }
  const value: unknown = document.toJS();
  return isTree(value) ? value : {};
}

function unquote(value: string): string {
  const [, double] = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(value) ?? [];
  if (double !== undefined) return double.replace(/\\(["\\$`])/g, '$1');
  const [, single] = /^'([^']*)'\s*(?:#.*)?$/.exec(value) ?? [];
  return single ?? value.replace(/\s+#.*$/, '').trim();
}
