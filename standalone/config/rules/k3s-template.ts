import type { Path, Report } from '../issue.ts';
import type { Config } from '../schema.ts';
import { K3S_PATH, k3sSpec } from './k3s-spec.ts';

/** Where the image has K3s' install script; not updatable. */
export const INSTALL_SCRIPT = '/opt/install.sh';

const VERSION = /^v\d+\.\d+\.\d+(-rc\d+)?\+k3s\d+$/;
const AT: Path = ['kubernetes'];

/** K8S201–K8S210, K8S240: the template as a whole, and what a standalone node fixes. */
export function checkTemplate(config: Config, embeddedVersion: string | undefined, report: Report): void {
  const section = config.kubernetes;
  if (section === undefined) return;
  if (section.kind === undefined) {
    report('K8S201', [...AT, 'kind'], 'kind is missing: only "KThreesControlPlaneTemplate" is supported');
  }
  if (section.apiVersion === undefined) {
    report('K8S202', [...AT, 'apiVersion'], 'apiVersion is missing: "controlplane.cluster.x-k8s.io/v1beta2"');
  }
  checkIgnored(config, report);
  const spec = k3sSpec(config);
  if (spec === undefined) {
    report('K8S203', K3S_PATH, 'spec.template.spec.kthreesConfigSpec is missing');
    return;
  }
  checkVersion(spec.version, embeddedVersion, report);
  const { agentConfig: agent, serverConfig: server } = spec;
  if (agent?.airGapped === false) {
    report('K8S208', [...K3S_PATH, 'agentConfig', 'airGapped'], 'not updatable, always true');
  }
  if (
    agent?.airGappedInstallScriptPath !== undefined &&
    agent.airGappedInstallScriptPath !== INSTALL_SCRIPT
  ) {
    const path = [...K3S_PATH, 'agentConfig', 'airGappedInstallScriptPath'];
    report('K8S209', path, `not updatable, always "${INSTALL_SCRIPT}"`);
  }
  const hasController = spec.files?.some(({ path }) => /\/server\/manifests\/.*(cloud|ccm)/.test(path ?? ''));
  if ((server?.cloudProviderName ?? '') !== '' && server?.disableCloudController === true && !hasController) {
    const path = [...K3S_PATH, 'serverConfig', 'cloudProviderName'];
    report(
      'K8S240',
      path,
      'the node will stay tainted: no cloud controller runs (disableCloudController is true)',
    );
  }
}

function checkVersion(version: string | undefined, embedded: string | undefined, report: Report): void {
  if (version === undefined) return;
  const path = [...K3S_PATH, 'version'];
  if (!VERSION.test(version)) report('K8S207', path, `"${version}" is not a K3s version like v1.33.0+k3s1`);
  else if (embedded !== undefined && version !== embedded) {
    report('K8S206', path, `not updatable: image has ${embedded}, config asks ${version}`);
  }
}

function checkIgnored(config: Config, report: Report): void {
  const inner = config.kubernetes?.spec?.template?.spec ?? {};
  for (const key of ['machineTemplate', 'rolloutAfter', 'remediationStrategy', 'replicas'] as const) {
    if (inner[key] !== undefined) {
      report('K8S210', [...AT, 'spec', 'template', 'spec', key], 'ignored on a standalone node');
    }
  }
  if (config.kubernetes?.metadata?.['annotations'] !== undefined) {
    report('K8S210', [...AT, 'metadata', 'annotations'], 'ignored on a standalone node');
  }
}
