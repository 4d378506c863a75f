import { z } from 'zod';

/** Which template a machine without a workflow gets, by what its agent says about it: Tinkerbell's WorkflowRuleSet. */
export const EnrollmentRuleSchema = z
  .strictObject({
    name: z.string().min(1).max(120),
    template: z.string().min(1).max(120),
    when: z
      .record(z.string().min(1).max(200), z.array(z.string().max(500)).min(1).max(100))
      .default({})
      .describe('Attribute → values that fit, for example {"product.vendor": ["Dell Inc."]}; all must fit'),
  })
  .meta({ id: 'EnrollmentRule' });

export type EnrollmentRule = z.output<typeof EnrollmentRuleSchema>;

/** The rule that fits with the most conditions; the first of several that are equally good. */
export function matchRule(rules: readonly EnrollmentRule[], attributes: unknown): EnrollmentRule | undefined {
  return rules
    .filter(({ when }) =>
      Object.entries(when).every(([path, wanted]) =>
        valuesAt(attributes, path.split('.')).some((value) => wanted.includes(value)),
      ),
    )
    .toSorted((a, b) => Object.keys(b.when).length - Object.keys(a.when).length)[0];
}

/** Every value at a path; a list on the way stands for each of its entries. */
function valuesAt(node: unknown, path: readonly string[]): string[] {
  if (Array.isArray(node)) return node.flatMap((each) => valuesAt(each, path));
  const [key, ...rest] = path;
  if (key === undefined) return node === undefined || node === null ? [] : [String(node)];
  if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return [];
  return valuesAt((node as Record<string, unknown>)[key], rest);
}
