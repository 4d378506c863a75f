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

/** The known word nearest to what was written, if it is near enough to be a slip. */
function nearestWord(written: string, known: readonly string[]): string | undefined {
  const alias = OTHER_NAMES[written];
  if (alias !== undefined && known.includes(alias)) return alias;
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '');
  const scored = known
    .map((word) => ({ word, distance: editDistance(plain(written), plain(word)) }))
    .sort((a, b) => a.distance - b.distance);
  const best = scored[0];
  const limit = Math.max(1, Math.floor(written.length / 3));
  return best !== undefined && best.distance <= limit ? best.word : undefined;
}

/** « (did you mean "x"?)», or nothing. */
export function didYouMean(written: string, known: readonly string[]): string {
  const word = nearestWord(written, known);
  return word === undefined ? '' : ` (did you mean "${word}"?)`;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
