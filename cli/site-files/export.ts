import type { Command } from 'commander';
import { stringify } from 'yaml';
import { type ConnectionOptions, ServerConnection, withConnection } from '../server-connection.ts';
import { readCurrentSite } from './current-site.ts';
import { OWN_VERSION } from './site-object.ts';
import type { CurrentSite } from './site-plan.ts';

/** `kindling export`: the site as objects that `kindling apply` takes. */
export function defineExport(command: Command): void {
  withConnection(command).action(async (options: ConnectionOptions) => {
    const objects = exportSite(await readCurrentSite(new ServerConnection(options)));
    if (options.output === 'json')
      console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2));
    else process.stdout.write(objectsAsYaml(objects));
  });
}

/** For readers of YAML 1.1 too: what they would take for a number or a truth value is quoted. */
export function objectsAsYaml(objects: readonly object[]): string {
  return objects.map((object) => stringify(object, { version: '1.1', lineWidth: 0 })).join('---\n');
}

/** Settings, profiles, templates, rules and registered nodes. Workflows are left out: applied elsewhere, they would run again. */
export function exportSite({ settings, profiles, templates, nodes }: CurrentSite): object[] {
  const { enrollmentRules, ...site } = settings;
  return [
    ...templates
      .filter(({ isBuiltIn }) => !isBuiltIn)
      .map(({ name, text }) => ({
        apiVersion: 'tinkerbell.org/v1alpha1',
        kind: 'Template',
        metadata: { name },
        spec: { data: text },
      })),
    ...profiles.map(({ name, ...spec }) => ({
      apiVersion: OWN_VERSION,
      kind: 'Profile',
      metadata: { name },
      spec,
    })),
    { apiVersion: OWN_VERSION, kind: 'Site', spec: site },
    ...enrollmentRules.map(({ name, rules, template, agentValue, values, isDisabled }) => ({
      apiVersion: 'tinkerbell.org/v1alpha1',
      kind: 'WorkflowRuleSet',
      metadata: { name },
      spec: {
        rules,
        workflow: { disabled: isDisabled, template: { ref: template, agentValue, kvs: values } },
      },
    })),
    ...nodes
      .filter(({ isRegistered }) => isRegistered)
      .map(({ name, registeredAs, profile, site: place, proof, metadata, mayEnroll, desiredState }) => {
        const said = Object.entries({ ...registeredAs, profile, site: place, proof });
        return {
          apiVersion: OWN_VERSION,
          kind: 'Node',
          metadata: { name, labels: metadata },
          spec: {
            ...Object.fromEntries(said.filter(([, value]) => value !== null)),
            autoOnboard: desiredState === 'ONBOARDED',
            mayEnroll,
          },
        };
      }),
  ];
}
