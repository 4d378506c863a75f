/** An error stops the build of a stick; a warning does so with --strict; a notice only tells what was derived. */
export type Severity = 'error' | 'warning' | 'notice';

interface Rule {
  severity: Severity;
  meaning: string;
}

/**
 * Every rule a standalone config is checked against. The reference page is generated from this table.
 * Codes are an API: they are added, never renamed or reused.
 */
export const RULES = {
  CFG001: { severity: 'error', meaning: 'The file is one YAML document without tabs or duplicate keys.' },
  CFG002: { severity: 'error', meaning: 'The file is a map and has only known keys.' },
  CFG003: { severity: 'error', meaning: '`version` is 1.0.' },
  CFG004: {
    severity: 'error',
    meaning: 'The file is not in the old text format; migrate turns it into YAML.',
  },
  CFG005: { severity: 'error', meaning: 'Every value has the type that the schema gives it.' },
  CFG006: { severity: 'warning', meaning: 'Quoted text that goes on in the next line is indented there.' },
  CFG007: {
    severity: 'error',
    meaning:
      'Every entry of `nodes` names one machine by serial, UUID or MAC, or is the default; no two name the same.',
  },

  OS101: { severity: 'error', meaning: 'User names are valid and unique, and there is at least one user.' },
  OS102: {
    severity: 'error',
    meaning: 'A password is base64 of one line of UTF-8 text, or a crypt(3) hash.',
  },
  OS103: {
    severity: 'error',
    meaning:
      'Somebody can log in: a user has a password or an SSH key. `--allow-no-login` is for machines that nobody enters.',
  },
  OS104: { severity: 'error', meaning: 'Proxies are http(s) URLs; a password in one is warned about.' },
  OS105: { severity: 'warning', meaning: 'noProxy holds hosts, and the addresses of the cluster itself.' },
  OS106: { severity: 'error', meaning: 'SSH keys are public keys whose inside agrees with their type.' },
  OS107: { severity: 'error', meaning: 'NTP servers are host names or IP addresses.' },
  OS108: { severity: 'error', meaning: 'LVM size and huge pages are whole numbers that are not negative.' },
  OS109: { severity: 'error', meaning: 'Services are unit names, and none is both enabled and disabled.' },
  OS110: {
    severity: 'error',
    meaning: 'Files of the operating system have clean absolute paths and one content.',
  },
  OS111: { severity: 'error', meaning: 'Commands are texts or lists of words, and not empty.' },
  OS112: { severity: 'error', meaning: 'Host name and time zone are well-formed.' },
  OS113: { severity: 'warning', meaning: 'A kubernetes section is used only where hostType is kubernetes.' },
  OS114: { severity: 'notice', meaning: 'A volume group is of use only if the image has LVM’s tools.' },
  OS115: {
    severity: 'error',
    meaning:
      'A password that is not a hash has at least 8 characters. `--allow-short-password` lets a shorter one pass.',
  },

  K8S201: { severity: 'error', meaning: '`kind` is KThreesControlPlaneTemplate.' },
  K8S202: { severity: 'error', meaning: '`apiVersion` is controlplane.cluster.x-k8s.io/v1beta2.' },
  K8S203: {
    severity: 'error',
    meaning: 'The fields stand below spec.template.spec.kthreesConfigSpec; one level higher is warned about.',
  },
  K8S204: {
    severity: 'error',
    meaning: 'Every field exists; a name that differs only in case is warned about.',
  },
  K8S205: { severity: 'error', meaning: 'Every field has its type; a number as a port is warned about.' },
  K8S206: { severity: 'error', meaning: 'The K3s version is the one in the image.' },
  K8S207: { severity: 'error', meaning: 'The K3s version looks like v1.33.0+k3s1.' },
  K8S208: { severity: 'error', meaning: 'airGapped is true.' },
  K8S209: { severity: 'error', meaning: 'airGappedInstallScriptPath is the predefined path.' },
  K8S210: { severity: 'warning', meaning: 'Fields that only an orchestrator uses are left out.' },
  K8S211: { severity: 'error', meaning: '`files` is a list; one file alone is warned about.' },
  K8S212: { severity: 'error', meaning: 'A file has an absolute, clean path.' },
  K8S213: { severity: 'error', meaning: 'A file lies below /etc or /var.' },
  K8S214: {
    severity: 'error',
    meaning:
      'A file does not lie behind a link that leads out of /etc or /var: /var/run, /var/lock, /etc/mtab.',
  },
  K8S215: {
    severity: 'error',
    meaning: 'No two files have one path, and none has a path the installer writes.',
  },
  K8S216: { severity: 'error', meaning: 'No file replaces accounts, mounts or the identity of the target.' },
  K8S217: { severity: 'error', meaning: 'A file has exactly one of content and contentFrom.' },
  K8S218: { severity: 'error', meaning: 'contentFrom is not used: it needs an orchestrator.' },
  K8S219: { severity: 'error', meaning: 'encoding is base64 or gzip+base64, and the content decodes.' },
  K8S220: {
    severity: 'error',
    meaning: 'permissions is an octal number in quotes; owner is user or user:group.',
  },
  K8S221: { severity: 'error', meaning: 'A file is at most 1 MiB, all together at most 8 MiB.' },
  K8S222: {
    severity: 'warning',
    meaning: 'On an immutable image a file lies on a path that survives a reboot.',
  },
  K8S223: {
    severity: 'warning',
    meaning: 'A drop-in of K3s does not silently replace a list from this file.',
  },
  K8S224: {
    severity: 'warning',
    meaning: 'A containerd template has no backslash before its quotes (they are removed).',
  },
  K8S225: { severity: 'error', meaning: 'With a Jinja header, no content holds {{ or {%.' },
  K8S230: { severity: 'error', meaning: 'Commands are texts, not empty, without NUL, at most 128 KiB.' },
  K8S231: { severity: 'error', meaning: 'Arguments look like name=value and are given once per list.' },
  K8S232: {
    severity: 'error',
    meaning: 'Address ranges are networks, and do not overlap each other or the node’s.',
  },
  K8S233: {
    severity: 'error',
    meaning: 'clusterDNS lies in serviceCidr; it is derived where it is not given.',
  },
  K8S234: { severity: 'error', meaning: 'Addresses, ports and the cluster domain are well-formed.' },
  K8S235: { severity: 'warning', meaning: 'disableComponents names components of K3s.' },
  K8S236: { severity: 'error', meaning: 'Node labels are well-formed and may be set by a node itself.' },
  K8S237: { severity: 'error', meaning: 'Node taints look like key=value:Effect.' },
  K8S238: { severity: 'error', meaning: 'tlsSan, nodeName and privateRegistry are well-formed.' },
  K8S239: { severity: 'warning', meaning: 'A command has no line break that YAML folds into a space.' },
  K8S240: { severity: 'warning', meaning: 'A cloud provider is named only where a controller for it runs.' },
  K8S241: {
    severity: 'warning',
    meaning: 'Overrides are for k3s.service, the unit that the installer creates.',
  },

  NET301: {
    severity: 'error',
    meaning: 'A static address has prefix, gateway in its network, and DNS servers.',
  },
  NET302: {
    severity: 'error',
    meaning: 'VLAN ids are 1–4094, MTUs 576–9216, and MAC addresses well-formed.',
  },
  NET303: { severity: 'error', meaning: 'No interface, and no address across nodes, is configured twice.' },

  DISK401: {
    severity: 'error',
    meaning:
      'The selector matches exactly one disk that is not the stick and is large enough (checked at install, with the codes KND_DISK_…).',
  },
  DISK402: { severity: 'error', meaning: 'The disk selector is well-formed and can match something.' },
  IMG501: { severity: 'error', meaning: 'image names a file or URL, and its SHA-256 is 64 hex digits.' },
  IMG502: { severity: 'error', meaning: 'verity and encryption are asked for only with profile emt.' },
  IMG503: {
    severity: 'warning',
    meaning:
      'The recovery key of a disk that is encrypted from a stick is written to the stick (recovery-keys/): it belongs into safe hands.',
  },
  IMG504: { severity: 'error', meaning: 'The image file and the folder of artifacts are there.' },
} as const satisfies Record<string, Rule>;

export type RuleCode = keyof typeof RULES;
