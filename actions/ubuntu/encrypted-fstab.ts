const ROOT = '/dev/mapper/rootfs_crypt';
const SWAP = '/dev/mapper/swap_crypt';
const DATA = '/dev/mapper/persistent_crypt';
const DATA_PLACE = '/data_persistent';

/** What the cluster keeps on the data partition. */
export const DATA_FOLDERS = { rancher: '/var/lib/rancher', kubelet: '/var/lib/kubelet' } as const;

/** The fstab of an encrypted mutable system. Lines of an earlier run are replaced, others stay; `boot` is the source of a /boot we made. */
export function encryptedFstab(old: string, boot: string | undefined): string {
  const lines = old.split('\n').filter((line) => line.trim() !== '');
  const fields = (line: string) => line.trim().split(/\s+/);
  const rootLine = lines.map(fields).find(([source, place]) => !source?.startsWith('#') && place === '/');
  const [, , fsType = 'ext4', options = 'errors=remount-ro'] = rootLine ?? [];
  const replaced = new Set<string>(['/', DATA_PLACE, ...Object.values(DATA_FOLDERS)]);
  if (boot !== undefined) replaced.add('/boot');
  const kept = lines.filter((line) => {
    const [source = '', place = ''] = fields(line);
    return source.startsWith('#') || !(replaced.has(place) || source === SWAP);
  });
  return `${[
    `${ROOT} / ${fsType} ${options} 0 1`,
    ...(boot === undefined ? [] : [`${boot} /boot ext4 defaults 0 2`]),
    ...kept,
    `${DATA} ${DATA_PLACE} ext4 defaults 0 2`,
    ...Object.entries(DATA_FOLDERS).map(([name, place]) => `${DATA_PLACE}/${name} ${place} none bind 0 0`),
    `${SWAP} none swap defaults 0 0`,
  ].join('\n')}\n`;
}
