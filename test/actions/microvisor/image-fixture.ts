const MIB = 2 ** 20;

/** A partition with its start and size in MiB. */
export const part = (number: number, start: number, size: number, partLabel: string) => ({
  number,
  startBytes: start * MIB,
  sizeBytes: size * MIB,
  type: '0fc63daf-8483-4772-8e79-3d69d8477de4',
  partUuid: `${number}1111111-1111-1111-1111-111111111111`,
  partLabel,
});

/** The Edge Microvisor image of 2025: 2 GiB, as docs/background/k3s.md#partitions-of-the-image gives it. */
export const microvisorImage = [
  part(1, 1, 299, 'esp'),
  part(2, 300, 1236, 'rootfs'),
  part(3, 1536, 511, 'edge_persistent'),
];
