import { z } from 'zod';
import { KindlingError } from '../../protocol/error.ts';
import { AttributeFields, parsePattern } from './attribute-pattern.ts';

const pattern = z
  .string()
  .min(2)
  .max(10_000)
  .superRefine((text, context) => {
    try {
      parsePattern(text);
    } catch (thrown) {
      if (!(thrown instanceof KindlingError)) throw thrown;
      context.addIssue(thrown.message);
    }
  });

/** Which template a machine without a workflow gets, by what its agent says about it: Tinkerbell's WorkflowRuleSet. */
export const EnrollmentRuleSchema = z
  .strictObject({
    name: z.string().min(1).max(120),
    rules: z
      .array(pattern)
      .min(1)
      .max(100)
      .describe(
        'Patterns of Quamina as JSON, for example {"product":{"vendor":["Dell Inc."]}}; one must match',
      ),
    template: z.string().min(1).max(120),
    agentValue: z
      .string()
      .min(1)
      .max(120)
      .default('device_1')
      .describe('What the template calls the agent’s id'),
    values: z
      .record(z.string().min(1).max(120), z.string().max(10_000))
      .default({})
      .describe('Further values for the template'),
    isDisabled: z.boolean().default(false).describe('Make the workflow paused; "resume" lets it begin'),
  })
  .meta({ id: 'EnrollmentRule' });

export type EnrollmentRule = z.output<typeof EnrollmentRuleSchema>;

/** The rule of which the most patterns match; the first of several that are equally good. */
export function matchRule(rules: readonly EnrollmentRule[], attributes: unknown): EnrollmentRule | undefined {
  const fields = new AttributeFields(withNamesOfTinkerbell(attributes));
  let best: EnrollmentRule | undefined;
  let most = 0;
  for (const rule of rules) {
    const count = rule.rules.filter((text) => fields.matches(parsePattern(text))).length;
    if (count > most) [best, most] = [rule, count];
  }
  return best;
}

/** The wire calls these lists otherwise than the rules do. */
const NAMES = new Map([
  ['block', 'blockDevices'],
  ['network', 'networkInterfaces'],
  ['pci', 'pciDevices'],
  ['gpu', 'gpuDevices'],
]);

function withNamesOfTinkerbell(attributes: unknown): unknown {
  if (typeof attributes !== 'object' || attributes === null) return {};
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [NAMES.get(key) ?? key, value]));
}

/** Rules as they were kept before they were patterns: `{"when": {"product.vendor": ["Dell Inc."]}}`. */
export function withPatterns(rule: unknown): unknown {
  if (typeof rule !== 'object' || rule === null || !('when' in rule)) return rule;
  const { when, ...rest } = rule;
  const root: { [key: string]: unknown } = {};
  for (const [path, values] of Object.entries(when as Record<string, string[]>)) {
    const names = path.split('.').map((name) => NAMES.get(name) ?? name);
    let node = root;
    for (const name of names.slice(0, -1)) {
      node[name] ??= {};
      node = node[name] as { [key: string]: unknown };
    }
    // A number was compared by its digits.
    node[names.at(-1) ?? ''] = values.flatMap((value) =>
      /^\d{1,15}$/.test(value) ? [value, Number(value)] : [value],
    );
  }
  // A rule without a condition was for every machine; all agents tell of their memory or say nothing at all.
  const every = { memory: { nothing: [{ exists: false }] } };
  return { ...rest, rules: [JSON.stringify(Object.keys(root).length > 0 ? root : every)] };
}
