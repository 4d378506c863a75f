import { redact } from '../../net/redact.ts';

/** Texts of files, which may hold passwords. */
const FILES = new Set(['cloudInit', 'installerScript', 'text', 'imageCaCert']);
const SECRET = /secret|password|token|proxy|sshKey/i;
const LONGEST_SHOWN = 200;
const NOT_SHOWN = '(not shown)';

export interface Difference {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

/** The fields in which two records differ. That a file or a secret changed is said, what it is never. */
export function differenceOf(before: unknown, after: unknown): Difference {
  const [old, fresh] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
  const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(fresh[name]));
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(
      changed.filter((name) => from[name] !== undefined).map((name) => [name, shown(name, from[name])]),
    );
  return { before: pick(old), after: pick(fresh) };
}

/** One line of text that a terminal only shows. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, LONGEST_SHOWN);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function shown(name: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  const isText = typeof value === 'string' && value.length <= LONGEST_SHOWN;
  if (!isText || FILES.has(name) || SECRET.test(name)) return NOT_SHOWN;
  return value.includes('://') ? redact(value) : oneLine(value);
}
