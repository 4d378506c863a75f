/**
 * A function for /bin/sh that puts the entry this system was booted from at the head of the firmware's boot order. Until an installed
 * system has reported its first boot, the network leads and BootNext alone sends the machine to the disk: a system that does not come
 * up is then followed by the Micro-OS. The system itself commits, because only it can reach its firmware's variables.
 *
 * Needs nothing but od, sed and grep; efibootmgr is missing in small images. dash's printf knows octal escapes only.
 * https://uefi.org/specs/UEFI/2.10/03_Boot_Manager.html#globally-defined-variables
 */
export const COMMIT_BOOT_ORDER = `commit_boot_order() {
  vars=/sys/firmware/efi/efivars
  [ -d /sys/firmware/efi ] || return 0 # a BIOS has no boot order to change
  guid=8be4df61-93ca-11d2-aa0d-00e098032b8c
  current=$(od -An -v -to1 -j4 "$vars/BootCurrent-$guid" | tr -d ' \\n')
  order=$(od -An -v -to1 -j4 "$vars/BootOrder-$guid" | tr -d ' \\n' | sed 's/....../&\\n/g')
  [ -n "$current" ] && [ -n "$order" ] || return 1
  wanted="$current$(printf '%s\\n' "$order" | grep -vx "$current" | tr -d '\\n')"
  [ "$wanted" = "$(printf '%s' "$order" | tr -d '\\n')" ] && return 0
  chattr -i "$vars/BootOrder-$guid" 2>/dev/null
  # Attributes (non-volatile, boot, run time) and value go to the firmware in one write.
  printf "$(printf '%s' "007000000000$wanted" | sed 's/.../\\\\&/g')" > "$vars/BootOrder-$guid"
}
`;
