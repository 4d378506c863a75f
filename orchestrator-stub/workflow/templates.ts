import { KindlingError } from '../../protocol/error.ts';
import type { DocumentTable } from '../store/document-table.ts';
import { builtInTemplates, type Template } from './built-in.ts';
import { checkSyntax } from './go-template/render.ts';
import { parseWorkflowTemplate, warnOfUnknownKeys } from './template.ts';

/** Templates by name: the operator's own, laid over the built-in ones. */
export class Templates {
  readonly #table: DocumentTable<Template>;
  readonly #builtIn: Map<string, Template>;

  constructor(table: DocumentTable<Template>) {
    this.#table = table;
    this.#builtIn = new Map(builtInTemplates().map((template) => [template.name, template]));
  }

  async list(): Promise<Template[]> {
    const own = await this.#table.list();
    const all = new Map([...this.#builtIn, ...own.map((each) => [each.name, each] as const)]);
    return [...all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async find(name: string): Promise<Template | undefined> {
    return (await this.#table.get(name)) ?? this.#builtIn.get(name);
  }

  async get(name: string): Promise<Template> {
    const template = await this.find(name);
    if (!template) throw new KindlingError('KND_TEMPLATE_UNKNOWN', `there is no template ${name}`);
    return template;
  }

  /** Faults that do not depend on values are found now, not when the first node shows up. */
  async put(name: string, text: string): Promise<Template & { warnings: string[] }> {
    checkSyntax(text, { name });
    const warnings = text.includes('{{')
      ? warnOfUnknownKeys(text, name)
      : parseWorkflowTemplate(text, name).warnings;
    const template = { name, text, isBuiltIn: false };
    await this.#table.save(name, template);
    return { ...template, warnings };
  }

  async delete(name: string): Promise<void> {
    if (await this.#table.delete(name)) return;
    if (!this.#builtIn.has(name))
      throw new KindlingError('KND_TEMPLATE_UNKNOWN', `there is no template ${name}`);
    throw new KindlingError('KND_TEMPLATE_INVALID', `${name} is built in and cannot be deleted`);
  }
}
