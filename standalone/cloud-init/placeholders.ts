/** What only the installer knows, because only it sees the machine. It replaces these words in the target's files. */
export const FIRST_NIC_MAC = '@FIRST_NIC_MAC@';
export const INSTANCE_ID = '@INSTANCE_ID@';
