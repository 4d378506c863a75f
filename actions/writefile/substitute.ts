/**
 * Whether the contents are EMF's template. Tinkerbell's own action writes them as they are; a workflow that names its image
 * (quay.io/tinkerbell/actions/writefile, quay.io/tinkerbell-actions/writefile) means that one.
 */
export function isSubstituted(image: string): boolean {
  return !/(^|\/)tinkerbell(-actions|\/actions)\//.test(image);
}

/**
 * EMF's substitution in file contents: every `$DEST_DISK` becomes the disk, the first `$ID` the partition's suffix.
 * Only the first, because scripts use a variable of that name themselves.
 */
export function substitute(contents: string, disk: string, partitionSuffix: string): string {
  return contents.replaceAll('$DEST_DISK', () => disk).replace('$ID', () => partitionSuffix);
}
