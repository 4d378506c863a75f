import type { Issue, Path, Report } from './issue.ts';
import { formatPath } from './issue.ts';
import { checkNodes, type EffectiveConfig, effectiveConfigs } from './nodes.ts';
import { normalize } from './normalize.ts';
import type { Severity } from './rule-table.ts';
import { RULES } from './rule-table.ts';
import { checkDiskAndImage, checkFilesOfImage, type LookUp } from './rules/disk-and-image.ts';
import { checkClusterAddresses } from './rules/k3s-addresses.ts';
import { checkArguments } from './rules/k3s-arguments.ts';
import { checkFiles } from './rules/k3s-files.ts';
import { checkTemplate } from './rules/k3s-template.ts';
import { checkAddressesAcrossNodes, checkNetwork } from './rules/network.ts';
import { checkProxy } from './rules/proxy.ts';
import { checkSystem } from './rules/system.ts';
import { checkUsers, type LoginPolicy } from './rules/users.ts';
import type { Config } from './schema.ts';
import { checkShape } from './shape.ts';
import { readSource, type Source } from './source.ts';

export interface ValidationOptions extends LoginPolicy {
  /** Warnings count as errors. */
  strict?: boolean;
  /** The K3s version in the image; `image.k3sVersion` of the file if left out. */
  k3sVersion?: string | undefined;
  /** The output will carry the reference's Jinja header. */
  withJinja?: boolean;
  /** Looks for the files that the config names; without it nobody looks. */
  lookUp?: LookUp | undefined;
}

export interface Validation {
  isValid: boolean;
  /** Every finding, in the order of the file. */
  issues: Issue[];
  config: Config;
  /** What each machine gets; the last one is for machines that nothing names. */
  machines: EffectiveConfig[];
}

/** 1 read  2 bring into one form  3 keys and types  4 every rule for every machine; all findings at once. */
export function validateConfig(text: string, options: ValidationOptions = {}): Validation {
  const source = readSource(text);
  const issues = new IssueList(source, options.strict ?? false);
  if (source.value === undefined) return result(issues, {}, []);

  const report = issues.reporter(undefined);
  const normalized = normalize(source.value, report);
  const config = checkShape(normalized, report);
  if (config.version === undefined && !issues.has('CFG003')) report('CFG003', [], 'version must be 1.0');
  checkNodes(config.nodes ?? [], report);

  const machines = effectiveConfigs(config);
  const reported = machines.map((machine) => ({ ...machine, report: issues.reporter(machine.entry) }));
  for (const { config: effective, entry, report: reportFor } of reported) {
    const spansLines = (path: Path) => source.spansLines(placed(source, entry, path));
    checkUsers(effective, reportFor, options);
    checkProxy(effective, reportFor);
    checkSystem(effective, reportFor);
    checkNetwork(effective, reportFor);
    checkDiskAndImage(effective, reportFor);
    if (options.lookUp) checkFilesOfImage(effective, options.lookUp, reportFor);
    checkTemplate(effective, options.k3sVersion ?? effective.image?.k3sVersion, reportFor);
    checkFiles(effective, options.withJinja ?? false, reportFor);
    checkArguments(effective, spansLines, reportFor);
    checkClusterAddresses(effective, reportFor);
  }
  checkAddressesAcrossNodes(reported);
  return result(issues, config, machines);
}

function result(issues: IssueList, config: Config, machines: EffectiveConfig[]): Validation {
  const found = issues.sorted();
  return { isValid: !found.some(({ severity }) => severity === 'error'), issues: found, config, machines };
}

/** Where a path of a machine's configuration stands: in its entry of `nodes` if it is there, else in the file's top. */
function placed(source: Source, entry: number | undefined, path: Path): Path {
  const own: Path = ['nodes', entry ?? 0, ...path];
  return entry !== undefined && source.has(own) ? own : path;
}

/** Collects findings; the same thing found for several machines is told once. */
class IssueList {
  readonly #issues = new Map<string, Issue>();
  readonly #source: Source;
  readonly #strict: boolean;

  constructor(source: Source, strict: boolean) {
    this.#source = source;
    this.#strict = strict;
    for (const { code, message, line, column, severity } of source.textFindings) {
      this.#add({ code, message, line, column, path: '', severity: severity ?? RULES[code].severity });
    }
  }

  reporter(entry: number | undefined): Report {
    return (code, path, message, severity) => {
      const where = placed(this.#source, entry, path);
      const issue = { code, message, path: formatPath(where), severity: severity ?? RULES[code].severity };
      this.#add({ ...issue, ...this.#source.locate(where) });
    };
  }

  has(code: string): boolean {
    return [...this.#issues.values()].some((issue) => issue.code === code);
  }

  sorted(): Issue[] {
    return [...this.#issues.values()].sort((a, b) => a.line - b.line || a.column - b.column);
  }

  #add(issue: Issue): void {
    const severity: Severity = this.#strict && issue.severity === 'warning' ? 'error' : issue.severity;
    this.#issues.set(`${issue.code} ${issue.path} ${issue.message}`, { ...issue, severity });
  }
}
