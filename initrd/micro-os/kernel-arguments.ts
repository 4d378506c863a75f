/**
 * What every kernel command line for the Micro-OS needs. The root of an initramfs is a tmpfs limited to half the memory,
 * counted before UEFI firmware gives back its own: with 384 MB that is 97 MB, too little, and unpacking fails half-way.
 * A ramfs has no limit. (`root=` with any value does the same; network boot scripts have one for the sake of other agents.)
 */
export const ROOT_ARGUMENTS = 'rootfstype=ramfs';
