import { closestName } from '../../system/closest-name.ts';

/** Words people bring from cloud-init, from the old config file or from kubeadm, and what they are called here. */
const OTHER_NAMES: Record<string, string> = {
  write_files: 'writeFiles',
  files: 'writeFiles',
  runcmd: 'runCommands',
  commands: 'runCommands',
  user_name: 'username',
  name: 'username',
  passwd: 'password',
  ssh_key: 'sshKey',
  ssh_authorized_keys: 'sshKeys',
  host_type: 'hostType',
  lvm_size_ingb: 'lvmSizeGiB',
  huge_page_config: 'hugePages',
  ntp: 'ntpServers',
  nameservers: 'dns',
};

/** The known word that was probably meant: another name of it, or one with a slip. */
function meantWord(written: string, known: readonly string[]): string | undefined {
  const alias = OTHER_NAMES[written];
  return alias !== undefined && known.includes(alias) ? alias : closestName(written, known);
}

/** ` (did you mean "x"?)`, or nothing. */
export function didYouMean(written: string, known: readonly string[]): string {
  const word = meantWord(written, known);
  return word === undefined ? '' : ` (did you mean "${word}"?)`;
}
