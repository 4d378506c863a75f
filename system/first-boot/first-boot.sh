#!/bin/sh
# The first boot of an installed system: reports once that the system is up.
# The settings are empty here; first-boot-script.ts puts quoted values in their place, and report.sh before it.
url=''               # where to report; the address is a credential
retry_seconds=''     # pause before the next try; without it a failure ends the script, and systemd starts it again
commits_boot_order='' # "yes": this system puts itself at the head of the firmware's boot order
boot_order_url=''    # told when the boot order is committed
stick_label=''       # the file system of an installer stick: the report goes to the console and to the stick
node_id=''           # name of this machine's files on the stick
k3s_done=''          # file that is there if K3s was installed
has_agents=''        # "yes": the system runs only when its agents do
remove=''            # files that are removed at the end, separated by spaces

body="{$(facts)"
if [ -n "$stick_label" ]; then
  k3s=none
  if [ -n "$k3s_done" ]; then
    if [ -e "$k3s_done" ]; then k3s=success; else k3s=failed; fi
  fi
  body="$body,\"k3s\":\"$k3s\""
fi
# Its agents come after this: agents.sh reports how they fare.
if [ "$has_agents" = yes ]; then body="$body,\"agents\":\"installing\""; fi
body="$body}"

# Puts the entry this system was booted from at the head of the firmware's boot order. Until an installed system has reported its
# first boot, the network leads and BootNext alone sends the machine to the disk: a system that does not come up is then followed by
# the Micro-OS. The system itself commits, because only it can reach its firmware's variables.
# efibootmgr is missing in small images, and dash's printf knows octal escapes only.
# https://uefi.org/specs/UEFI/2.10/03_Boot_Manager.html#globally-defined-variables
commit_boot_order() {
  vars=/sys/firmware/efi/efivars
  [ -d /sys/firmware/efi ] || return 0 # a BIOS has no boot order to change
  guid=8be4df61-93ca-11d2-aa0d-00e098032b8c
  current=$(od -An -v -to1 -j4 "$vars/BootCurrent-$guid" | tr -d ' \n')
  order=$(od -An -v -to1 -j4 "$vars/BootOrder-$guid" | tr -d ' \n' | sed 's/....../&\n/g')
  [ -n "$current" ] && [ -n "$order" ] || return 1
  wanted="$current$(printf '%s\n' "$order" | grep -vx "$current" | tr -d '\n')"
  [ "$wanted" = "$(printf '%s' "$order" | tr -d '\n')" ] && return 0
  chattr -i "$vars/BootOrder-$guid" 2>/dev/null
  # Attributes (non-volatile, boot, run time) and value go to the firmware in one write.
  # shellcheck disable=SC2059 # the format is the octal escapes
  printf "$(printf '%s' "007000000000$wanted" | sed 's/.../\\&/g')" >"$vars/BootOrder-$guid"
}

# As a file on the people's partition of the stick, with what cloud-init said.
write_to_stick() {
  stick=$(blkid -L "$stick_label") || return 0
  folder=$(mktemp -d)
  if mount -t vfat "$stick" "$folder"; then
    mkdir -p "$folder/status" "$folder/logs"
    echo "$body" >"$folder/status/$node_id-first-boot.json"
    cp /var/log/cloud-init-output.log "$folder/logs/$node_id-first-boot.log"
    umount "$folder" && echo 'KINDLING-STICK-WRITTEN' >/dev/console
  fi
  rmdir "$folder"
}

# 1. Report
if [ -n "$url" ]; then
  # The site may be away for hours: as long as this system runs, it is tried again.
  until send "$url" "$body"; do
    [ -n "$retry_seconds" ] || exit 1
    sleep "$retry_seconds"
  done
fi
if [ -n "$stick_label" ]; then
  echo "KINDLING-FIRST-BOOT $body" >/dev/console
  write_to_stick
fi

# 2. Remember it. Below /etc, because immutable systems forget /var at every start.
mkdir -p /etc/kindling && : >/etc/kindling/first-boot-reported

# 3. From now on the disk comes first
if [ "$commits_boot_order" = yes ]; then
  if ! commit_boot_order; then
    echo 'the firmware does not take the boot order' >&2
  elif [ -n "$boot_order_url" ]; then
    send "$boot_order_url" "$body"
  fi
fi

# 4. Leave nothing behind where / lasts
for file in $remove; do rm -f "$file" 2>/dev/null; done
exit 0
