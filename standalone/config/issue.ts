import type { RuleCode, Severity } from './rule-table.ts';

export type PathSegment = string | number;
export type Path = readonly PathSegment[];

/** One finding in a config file: where it is, which rule it breaks, and what to write instead. */
export interface Issue {
  code: RuleCode;
  severity: Severity;
  /** operatingSystem.users[0].username; empty for the file as a whole. */
  path: string;
  message: string;
  line: number;
  column: number;
}

/** What a rule says before the position in the file is looked up. */
export interface Finding {
  code: RuleCode;
  path: Path;
  message: string;
  /** Replaces the severity of the rule table. */
  severity?: Severity;
}

export type Report = (code: RuleCode, path: Path, message: string, severity?: Severity) => void;

/** ['users', 0, 'name'] → users[0].name */
export function formatPath(path: Path): string {
  return path.reduce<string>(
    (text, segment) =>
      typeof segment === 'number' ? `${text}[${segment}]` : text === '' ? segment : `${text}.${segment}`,
    '',
  );
}

/** One line in the form editors and CI know: file:line:column: severity CODE path: message */
export function formatIssue(fileName: string, issue: Issue): string {
  const where = issue.path === '' ? '' : `${issue.path}: `;
  return `${fileName}:${issue.line}:${issue.column}: ${issue.severity} ${issue.code} ${where}${issue.message}`;
}
