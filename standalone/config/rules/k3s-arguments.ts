import { didYouMean } from '../did-you-mean.ts';
import type { Path, Report } from '../issue.ts';
import type { KthreesConfigSpec } from '../kubernetes-schema.ts';
import { isDnsName, isHost } from '../names.ts';
import type { Config } from '../schema.ts';
import { K3S_PATH, k3sSpec } from './k3s-spec.ts';

const MAX_COMMAND_BYTES = 128 * 1024;
const ARGUMENT = /^(--)?[a-z0-9][a-z0-9.-]*[+-]?(=.*)?$/;
const COMPONENTS = ['coredns', 'servicelb', 'traefik', 'local-storage', 'metrics-server', 'runtimes'];
const LABEL_NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

/** K8S230, K8S231, K8S235–K8S239, K8S241: commands, arguments, components, labels, names. */
export function checkArguments(config: Config, spansLines: (path: Path) => boolean, report: Report): void {
  const spec = k3sSpec(config);
  if (spec === undefined) return;
  for (const key of ['preK3sCommands', 'postK3sCommands'] as const) {
    spec[key]?.forEach((command, index) => {
      checkCommand(command, [...K3S_PATH, key, index], spansLines, report);
    });
  }
  const { serverConfig: server = {}, agentConfig: agent = {} } = spec;
  const lists: [Path, string[] | undefined][] = [
    [['serverConfig', 'kubeAPIServerArg'], server.kubeAPIServerArg],
    [['serverConfig', 'kubeControllerManagerArgs'], server.kubeControllerManagerArgs],
    [['serverConfig', 'kubeSchedulerArgs'], server.kubeSchedulerArgs],
    [['agentConfig', 'kubeletArgs'], agent.kubeletArgs],
    [['agentConfig', 'kubeProxyArgs'], agent.kubeProxyArgs],
  ];
  for (const [path, list] of lists) checkArgumentList(list, [...K3S_PATH, ...path], report);
  checkComponents(spec, report);
  agent.nodeLabels?.forEach((label, index) => {
    const fault = labelFault(label);
    if (fault) report('K8S236', [...K3S_PATH, 'agentConfig', 'nodeLabels', index], fault);
  });
  agent.nodeTaints?.forEach((taint, index) => {
    const [, key = '', value = ''] =
      /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(taint) ?? [];
    if (!isLabelKey(key) || !(value === '' || LABEL_NAME.test(value))) {
      const path = [...K3S_PATH, 'agentConfig', 'nodeTaints', index];
      report('K8S237', path, `"${taint}" is not key[=value]:NoSchedule|PreferNoSchedule|NoExecute`);
    }
  });
  checkNames(spec, report);
}

function checkCommand(
  command: string,
  path: Path,
  spansLines: (path: Path) => boolean,
  report: Report,
): void {
  if (command.trim() === '') report('K8S230', path, 'the command is empty');
  if (command.includes('\0')) report('K8S230', path, 'the command holds NUL');
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
    report('K8S230', path, 'the command is longer than 128 KiB');
  if (spansLines(path)) {
    report('K8S239', path, 'YAML folds this line break into a space; write \\n, or use a | block');
  }
  if (/k3s-server\.service/.test(command)) {
    report('K8S241', path, 'the unit is k3s.service; an override for k3s-server.service has no effect');
  }
}

function checkArgumentList(list: string[] | undefined, at: Path, report: Report): void {
  const seen = new Set<string>();
  list?.forEach((argument, index) => {
    if (!ARGUMENT.test(argument)) {
      report('K8S231', [...at, index], `"${argument}" is not name=value in one line`);
      return;
    }
    const name = argument.replace(/^--/, '').replace(/=.*$/, '');
    if (seen.has(name)) report('K8S231', [...at, index], `"${name}" is there twice; K3s passes both on`);
    seen.add(name);
  });
}

function checkComponents(spec: KthreesConfigSpec, report: Report): void {
  const manifests = new Set(
    (spec.files ?? []).flatMap(
      ({ path }) => /\/server\/manifests\/(?:.*\/)?([^/]+)\.ya?ml$/.exec(path ?? '')?.[1] ?? [],
    ),
  );
  spec.serverConfig?.disableComponents?.forEach((name, index) => {
    // etcd-proxy is the manifest cluster-api-k3s adds; EMF's templates disable it, and here it is never written.
    if (COMPONENTS.includes(name) || manifests.has(name) || name === 'etcd-proxy') return;
    const path = [...K3S_PATH, 'serverConfig', 'disableComponents', index];
    report(
      'K8S235',
      path,
      `"${name}" is not a component of K3s, which ignores it${didYouMean(name, COMPONENTS)}`,
    );
  });
}

/** Labels of these prefixes may be set by the kubelet itself; other (k8s|kubernetes).io labels make it refuse to start. */
const SELF_SET_LABELS =
  /^((beta\.)?kubernetes\.io\/(arch|os|hostname)|(beta|node)\.kubernetes\.io\/instance-type|(failure-domain\.beta|topology)\.kubernetes\.io\/(region|zone)|([^/]*\.)?(kubelet|node)\.kubernetes\.io\/.*)$/;

function labelFault(label: string): string | undefined {
  const [key = '', value, ...rest] = label.split('=');
  if (
    value === undefined ||
    rest.length > 0 ||
    !isLabelKey(key) ||
    !(value === '' || LABEL_NAME.test(value))
  ) {
    return `"${label}" is not key=value`;
  }
  const prefix = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const isRestricted = /(^|\.)(kubernetes|k8s)\.io$/.test(prefix) && !SELF_SET_LABELS.test(key);
  return isRestricted ? `"${key}" may not be set by a node itself; the kubelet refuses to start` : undefined;
}

function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...rest] = key.split('/').reverse();
  return rest.length === 0 && LABEL_NAME.test(name) && (prefix === undefined || isDnsName(prefix));
}

function checkNames(spec: KthreesConfigSpec, report: Report): void {
  spec.serverConfig?.tlsSan?.forEach((name, index) => {
    if (!isHost(name.replace(/^\*\./, ''))) {
      report(
        'K8S238',
        [...K3S_PATH, 'serverConfig', 'tlsSan', index],
        `"${name}" is not a DNS name or IP address`,
      );
    }
  });
  const { nodeName, privateRegistry } = spec.agentConfig ?? {};
  if (nodeName !== undefined && (!isDnsName(nodeName) || nodeName !== nodeName.toLowerCase())) {
    report('K8S238', [...K3S_PATH, 'agentConfig', 'nodeName'], `"${nodeName}" is not a lower-case host name`);
  }
  const known = ['/etc/rancher/k3s/registries.yaml', ...(spec.files ?? []).map(({ path }) => path)];
  if (privateRegistry !== undefined && !known.includes(privateRegistry)) {
    const path = [...K3S_PATH, 'agentConfig', 'privateRegistry'];
    report('K8S238', path, `"${privateRegistry}" is not among files`);
  }
}
