import {
  duration,
  hostLines,
  macAddress,
  oneOf,
  type ParseValue,
  port,
  proxyAddress,
  text,
  url,
  yesOrNo,
} from './values.ts';

export interface Setting<T> {
  /** What it is for; one line for `--help` and the reference page. */
  summary: string;
  /** Long options, without dashes. The first is ours, the others those of the programs the agent stands in for. */
  flags: readonly string[];
  /** Names on the kernel command line. Several names in one source: the first that is not empty counts. */
  kernel?: readonly string[];
  /** Keys of the config archive's env_config. */
  env?: readonly string[];
  parse: ParseValue<T>;
  /** Names whose value means the opposite (DISABLE_…). */
  negated?: readonly string[];
  default?: NoInfer<T>;
  /** Never shown. */
  isSecret?: boolean;
  /** A name that is there but empty: 'none' switches off what a lower source says; otherwise it is as if absent. */
  whenEmpty?: 'none';
}

const setting = <T>(value: Setting<T>): Setting<T> => value;
const withDefault = <T>(value: Setting<T> & { default: NoInfer<T> }): Setting<T> & { default: T } => value;

/**
 * Every setting of the agent, and every name under which a real orchestrator, boot script or person gives it.
 * Sources in order of precedence: flags, kernel command line, env_config, default. There is no second list of settings; what
 * bring-up asks the kernel command line for, before there is a config, is in kernel-keys.ts.
 */
export const SETTINGS = {
  // --- who to talk to ---
  server: setting({
    summary: 'Kindling server: gets the discovery report and the logs, from before onboarding on',
    flags: ['server'],
    kernel: ['kindling.server'],
    env: ['kindling_server'],
    parse: url,
  }),
  onboardingStream: setting({
    summary: 'host of the non-interactive onboarding service; without it the agent does not onboard',
    flags: ['onboarding-stream', 'obs-svc'],
    env: ['onboarding_stream_svc', 'OBS_SVC'],
    parse: text,
  }),
  onboardingManager: setting({
    summary: 'host of the interactive onboarding service',
    flags: ['onboarding-manager', 'obm-svc'],
    env: ['onboarding_manager_svc', 'OBM_SVC'],
    parse: text,
  }),
  onboardingPort: withDefault({
    summary: 'port of both onboarding services',
    flags: ['onboarding-port', 'obm-port'],
    env: ['OBM_PORT'],
    parse: port,
    default: 443,
  }),
  keycloak: setting({
    summary: 'host[:port] of the token endpoint',
    flags: ['keycloak', 'keycloak-url'],
    env: ['KEYCLOAK_URL'],
    parse: text,
  }),
  tinkServer: setting({
    summary: 'host[:port] of the workflow server behind the site’s gateway (TLS and bearer token)',
    flags: ['tink-server'],
    env: ['tink_server_svc'],
    parse: text,
  }),
  grpcAuthority: setting({
    summary: 'host:port of the workflow server',
    flags: ['grpc-authority', 'tinkerbell-grpc-authority', 'grpc-server'],
    kernel: ['grpc_authority'],
    env: ['TINKERBELL_GRPC_AUTHORITY'],
    parse: text,
  }),
  tinkStack: setting({
    summary: 'host[:port] behind http://127.0.0.1/tink-stack/',
    flags: ['tink-stack'],
    env: ['tink_stack_svc'],
    parse: text,
  }),
  releaseServer: setting({
    summary: 'host[:port] behind http://127.0.0.1/files-edge-orch/',
    flags: ['release-server'],
    env: ['release_svc'],
    parse: text,
  }),
  registryServer: setting({
    summary: 'host[:port] behind localhost:7443',
    flags: ['registry-server'],
    env: ['oci_release_svc'],
    parse: text,
  }),
  loggingServer: setting({
    summary: 'host[:port] that takes logs as OTLP over HTTP',
    flags: ['logging-server'],
    env: ['logging_svc'],
    parse: text,
  }),
  syslogHost: setting({
    summary: 'host that takes logs as RFC 5424 syslog over UDP',
    flags: ['syslog-host'],
    kernel: ['syslog_host'],
    parse: text,
  }),
  syslogPort: withDefault({
    summary: 'port of that host',
    flags: ['syslog-port'],
    kernel: ['syslog_port'],
    parse: port,
    default: 514,
  }),

  // --- how to talk ---
  dialect: withDefault({
    summary: 'workflow protocol: auto, tink-legacy (tink 0.9–0.12, EMF) or tink-current (Tinkerbell ≥ 0.18)',
    flags: ['dialect'],
    kernel: ['kindling.dialect'],
    env: ['kindling_dialect'],
    parse: oneOf('auto', 'tink-legacy', 'tink-current'),
    default: 'auto',
  }),
  tls: withDefault({
    summary: 'TLS to onboarding, token, file and log servers; off only on an isolated network',
    flags: ['tls'],
    kernel: ['kindling.tls'],
    env: ['kindling_tls'],
    parse: yesOrNo,
    default: true,
  }),
  tinkerbellTls: withDefault({
    summary: 'TLS to the workflow server named by grpc_authority',
    flags: ['tinkerbell-tls', 'grpc-tls'],
    kernel: ['tinkerbell_tls'],
    env: ['TINKERBELL_TLS'],
    parse: yesOrNo,
    default: true,
  }),
  tinkerbellInsecureTls: withDefault({
    summary: 'do not verify the workflow server’s certificate',
    flags: ['tinkerbell-insecure-tls', 'grpc-insecure-tls'],
    kernel: ['tinkerbell_insecure_tls'],
    env: ['TINKERBELL_INSECURE_TLS'],
    parse: yesOrNo,
    default: false,
  }),
  caCertificate: setting({
    summary: 'PEM file with the site’s CA; by default the places where the config archive puts it',
    flags: ['ca-certificate', 'ca-cert'],
    kernel: ['kindling.ca'],
    env: ['CA_CERT'],
    parse: text,
  }),
  httpProxy: setting({
    summary: 'proxy for http:// and plain gRPC',
    flags: ['http-proxy'],
    kernel: ['http_proxy', 'HTTP_PROXY'],
    env: ['http_proxy', 'HTTP_PROXY'],
    parse: proxyAddress,
    whenEmpty: 'none',
  }),
  httpsProxy: setting({
    summary: 'proxy for https:// and gRPC over TLS',
    flags: ['https-proxy'],
    kernel: ['https_proxy', 'HTTPS_PROXY'],
    env: ['https_proxy', 'HTTPS_PROXY'],
    parse: proxyAddress,
    whenEmpty: 'none',
  }),
  noProxy: setting({
    summary: 'hosts, .domains, addresses and CIDR ranges that are reached without a proxy',
    flags: ['no-proxy'],
    kernel: ['no_proxy', 'NO_PROXY'],
    env: ['no_proxy', 'NO_PROXY'],
    parse: text,
    whenEmpty: 'none',
  }),
  extraHosts: setting({
    summary: 'names to add to /etc/hosts: "ip name,ip name"',
    flags: ['extra-hosts'],
    env: ['EXTRA_HOSTS'],
    parse: hostLines,
  }),
  pollInterval: withDefault({
    summary: 'pause between two questions for work (legacy dialect)',
    flags: ['poll-interval', 'retry-interval'],
    kernel: ['kindling.poll_interval'],
    env: ['RETRY_INTERVAL'],
    parse: duration,
    default: 3000,
  }),
  isInteractive: withDefault({
    summary: 'ask for user name and password on the consoles when the server does not know the node',
    flags: ['interactive', 'disable-interactive'],
    kernel: ['kindling.interactive'],
    env: ['DISABLE_INTERACTIVE'],
    negated: ['disable-interactive', 'DISABLE_INTERACTIVE'],
    parse: yesOrNo,
    default: true,
  }),

  // --- who the node is ---
  workerId: setting({
    summary:
      'id of the node for the workflow server, byte for byte; by default the MAC of the NIC that booted',
    flags: ['worker-id', 'id'],
    kernel: ['worker_id'],
    env: ['WORKER_ID', 'ID'],
    parse: text,
  }),
  mac: setting({
    summary: 'MAC address to report instead of the NIC’s own',
    flags: ['mac'],
    env: ['MAC'],
    parse: macAddress,
  }),
  serial: setting({
    summary: 'serial number to report instead of the firmware’s',
    flags: ['serial'],
    env: ['SERIAL'],
    parse: text,
  }),
  uuid: setting({
    summary: 'UUID to report instead of the firmware’s',
    flags: ['uuid'],
    env: ['UUID'],
    parse: text,
  }),
  ip: setting({
    summary: 'IPv4 address to report instead of the NIC’s own',
    flags: ['ip'],
    env: ['IP'],
    parse: text,
  }),
  bootIp: setting({
    summary: 'IPv4 address that iPXE had; reported only if the NIC has none',
    flags: ['boot-ip'],
    kernel: ['IP'],
    parse: text,
  }),

  // --- containers (foreign actions only) ---
  dockerRegistry: setting({
    summary: 'registry for action images that Kindling does not have built in',
    flags: ['docker-registry', 'registry-name'],
    kernel: ['docker_registry'],
    env: ['DOCKER_REGISTRY'],
    parse: text,
  }),
  registryUsername: setting({
    summary: 'user of that registry',
    flags: ['registry-username', 'registry-user'],
    kernel: ['registry_username'],
    env: ['REGISTRY_USERNAME'],
    parse: text,
  }),
  registryPassword: setting({
    summary: 'password of that registry',
    flags: ['registry-password', 'registry-pass'],
    kernel: ['registry_password'],
    env: ['REGISTRY_PASSWORD'],
    parse: text,
    isSecret: true,
  }),
  insecureRegistries: setting({
    summary: 'registries reached over plain HTTP, comma separated',
    flags: ['insecure-registries'],
    kernel: ['insecure_registries'],
    parse: text,
  }),
  registryMirrors: setting({
    summary: 'mirrors of registries, comma separated: “quay.io=https://mirror.site/quay”, or one for all',
    flags: ['registry-mirrors'],
    kernel: ['kindling.registry_mirrors'],
    env: ['KINDLING_REGISTRY_MIRRORS'],
    parse: text,
  }),

  // --- behavior ---
  debug: withDefault({
    summary: 'with TIMEOUT: a deadline for the whole onboarding',
    flags: ['debug'],
    kernel: ['DEBUG'],
    env: ['DEBUG'],
    parse: yesOrNo,
    default: false,
  }),
  timeout: withDefault({
    summary: 'that deadline; it counts only with DEBUG=true, as in the original',
    flags: ['timeout'],
    kernel: ['TIMEOUT'],
    env: ['TIMEOUT'],
    parse: duration,
    default: 120_000,
  }),
  handOver: withDefault({
    summary: 'after a workflow without a reboot action: reboot, or wait for more work',
    flags: ['hand-over'],
    kernel: ['kindling.hand_over'],
    parse: oneOf('wait', 'reboot'),
    default: 'wait',
  }),
  credentialsFolder: withDefault({
    summary: 'where credentials and tokens are kept, in RAM, mode 0600',
    flags: ['credentials-folder'],
    parse: text,
    default: '/dev/shm',
  }),
  stateFolder: withDefault({
    summary: 'where the journal and the logs are kept, in RAM',
    flags: ['state-folder'],
    parse: text,
    default: '/run/kindling',
  }),
  logLevel: withDefault({
    summary: 'least level that is logged',
    flags: ['log-level'],
    kernel: ['kindling.log_level'],
    parse: oneOf('debug', 'info', 'warn', 'error'),
    default: 'info',
  }),
  once: withDefault({
    summary: 'end after one workflow instead of asking for more (for running by hand)',
    flags: ['once'],
    parse: yesOrNo,
    default: false,
  }),
} as const;
