#!/bin/sh
# Made by Kindling. Seals the key of the disk to what this machine boots (docs: "Encrypt the disk of a node").
#
#   seal menu     writes the few lines of GRUB that start the system, into the EFI system partition
#   seal booted   at every boot: seals to this one if the first key or a person opened it; ends older seals
#   seal next     after a change of kernel, initramfs or boot menu: seals to what the next boot will measure
set -eu
umask 077
work=$(mktemp -d /run/kindling-seal.XXXXXX)
trap 'rm -rf "$work"' EXIT
# shellcheck source=actions/ubuntu/measured-boot/tpm-policy.sh
. /usr/local/lib/kindling/tpm-policy.sh
opened=/run/kindling-opened
key=/etc/kindling/disk.key
log=/sys/kernel/security/tpm0/binary_bios_measurements
zero=0000000000000000000000000000000000000000000000000000000000000000
volume=/dev/disk/by-uuid/$(sed -n 's/^[^#][^ ]* UUID=\([^ ]*\) .*/\1/p' /etc/crypttab | head -n 1)

say() { echo "kindling: $*" >&2; }
give_up() { say "$*"; exit 1; }

# --- the boot menu ---------------------------------------------------------------------------------------------

# The stub of the distribution's GRUB that is in use: the one that names /boot's file system.
find_stub() {
  for stub in /boot/efi/EFI/*/grub.cfg; do
    if grep -q '^search.fs_uuid' "$stub" 2>/dev/null; then echo "$stub"; return; fi
  done
  give_up "there is no EFI/.../grub.cfg below /boot/efi"
}

# The first entry of the menu that update-grub made, without words that hold variables: their value is not in the file.
entry_of() { sed -n "s/^[[:space:]]*$1[[:space:]]\{1,\}//p" /boot/grub/grub.cfg | head -n 1; }
linux_line() { set -f; for word in $(entry_of linux); do case $word in *\$*) ;; *) printf ' %s' "$word" ;; esac; done; set +f; }

# Straight to the first entry: every command is measured into PCR 8, and these few can be foretold. Escape within a
# second, or a file that is missing, leads to the whole menu, to which the TPM gives nothing.
make_stub() {
  linux=$(linux_line) initrd=$(entry_of initrd)
  [ -n "$linux" ] && [ -n "$initrd" ] || give_up "there is no entry in /boot/grub/grub.cfg"
  case $linux$initrd in *[\'\"\\]*) give_up "the first entry of /boot/grub/grub.cfg has quotes in it" ;; esac
  search=$(grep -m 1 '^search.fs_uuid' "$1") prefix=$(grep -m 1 '^set prefix=' "$1")
  cat <<END
$search
if sleep --interruptible 1; then
linux$linux
initrd $initrd
boot
fi
$prefix
configfile \$prefix/grub.cfg
END
}

place_stub() {
  cp "$1" "$2.new"
  sync "$2.new"
  mv "$2.new" "$2"
  sync "$2"
}

# --- sealing ---------------------------------------------------------------------------------------------------

counter() {
  tpm2 nvread -C "$COUNTER" "$COUNTER" 2>/dev/null > "$work/counter" || return 1
  echo $((0x$(hex_of "$work/counter")))
}

make_counter() {
  counter > /dev/null && return
  tpm2 nvdefine -Q "$COUNTER" -C o -a 'ownerread|ownerwrite|authread|authwrite|no_da|nt=counter' > /dev/null 2>&1 || true
  tpm2 nvincrement -Q "$COUNTER" -C "$COUNTER" > /dev/null || give_up "the TPM gives no counter"
}

raise_counter() {
  while [ "$(counter)" -lt "$1" ]; do tpm2 nvincrement -Q "$COUNTER" -C "$COUNTER" > /dev/null; done
}

until_of() { token=$(read_token "$volume" "$1") && field "$token" until || echo 0; }

from_hex() { perl -e 'print pack "H*", shift' "$1"; }

# Seals the key to the PCR values $1, valid until the counter is beyond $2, as token $3.
write_seal() {
  from_hex "$1" > "$work/values"
  tpm2 startauthsession -Q -S "$work/trial"
  tpm2 policypcr -Q -S "$work/trial" -l "sha256:$PCRS" -f "$work/values"
  bind_counter "$work/trial" "$2" -L "$work/policy"
  tpm2 flushcontext -Q "$work/trial"
  tpm2 startauthsession -Q --hmac-session -c "$work/parent" -S "$work/bus"
  tpm2 sessionconfig -Q "$work/bus" --enable-decrypt
  tpm2 create -Q -C "$work/parent" -P "session:$work/bus" -i "$key" -L "$work/policy" \
    -a 'fixedtpm|fixedparent|noda' -u "$work/public" -r "$work/private"
  tpm2 flushcontext -Q "$work/bus"
  cryptsetup token remove --token-id "$3" "$volume" 2>/dev/null || true
  printf '{"type":"kindling-seal","keyslots":["0"],"parent":"%s","values":"%s","until":"%s","public":"%s","private":"%s"}' \
    "$(hex_of "$work/parent.name")" "$1" "$2" "$(to_text "$work/public")" "$(to_text "$work/private")" |
    cryptsetup token import --token-id "$3" "$volume"
}

pcr_value() {
  place=$(echo "$PCRS" | tr , "\n" | grep -n -x "$1" | cut -d : -f 1)
  pcr_values | cut -c $((place * 64 - 63))-$((place * 64))
}

# PCR 15 is filled by now; the next boot finds it zero.
values_of_this_boot() { echo "$(pcr_values | cut -c 1-256)$zero"; }

# --- what the next boot will measure ---------------------------------------------------------------------------

# The firmware's event log as lines "pcr digest data", in hexadecimal but the PCR (TCG PC Client Platform Firmware
# Profile, 10.2). The first event is of the old format and tells only what follows.
read_log() {
  od -An -v -tx1 "$log" | tr -d ' \n' | awk '
    function byte(at) { return index(HEX, substr($0, at, 1)) * 16 + index(HEX, substr($0, at + 1, 1)) - 17 }
    function number(bytes,   at, value, i) {
      value = 0
      for (i = bytes - 1; i >= 0; i--) { at = place + 2 * i; value = value * 256 + byte(at) }
      place += 2 * bytes
      return value
    }
    BEGIN { HEX = "0123456789abcdef"; size[4] = 20; size[11] = 32; size[12] = 48; size[13] = 64; size[18] = 32 }
    {
      place = 1 + 2 * 28
      first = number(4)
      place += 2 * first
      while (place < length($0)) {
        pcr = number(4); type = number(4); count = number(4); sha256 = ""
        if (pcr > 23) break
        while (count-- > 0) {
          algorithm = number(2)
          if (!(algorithm in size)) exit 1
          if (algorithm == 11) sha256 = substr($0, place, 64)
          place += 2 * size[algorithm]
        }
        bytes = number(4)
        if (type != 3) print pcr, sha256, substr($0, place, 2 * bytes)
        place += 2 * bytes
      }
    }'
}

booted_log=/run/kindling-boot-log

# Lines as from the log, for the GRUB of Debian and Ubuntu with its folder $2 on the EFI system partition $1: the
# commands of its built-in grub.cfg, then those of the stub $3.
derive_log() {
  p="($1)$2"
  for text in "[ -z $p -o ! -e $p ]" "[ -e $p/x86_64-efi/grub.cfg ]" "[ -e $p/grub.cfg ]" "source $p/grub.cfg"; do
    line 8 "grub_cmd: $text" "$(hash_of_text "$text")"
  done
  line 9 "$p/grub.cfg" "$(hash_of "$3")"
  while read -r command rest; do
    case $command in
      search.fs_uuid | linux | initrd | boot) text="$command${rest:+ $rest}" ;;
      if) text=${rest%; then} ;;
      fi) break ;;
    esac
    line 8 "grub_cmd: $text" "$(hash_of_text "$text")"
    case $command in
      linux)
        line 9 "${rest%% *}" "$(hash_of "$(in_boot "${rest%% *}")")"
        line 8 "kernel_cmdline: $rest" "$(hash_of_text "$rest")"
        ;;
      initrd) line 9 "$rest" "$(hash_of "$(in_boot "$rest")")" ;;
    esac
  done < "$3"
}
line() { echo "$1 $3 $(hex_text "$2")00"; }

# A path as GRUB has it. Where /boot is a folder of the root, it begins with it.
in_boot() { if [ -f "/boot/$1" ]; then echo "/boot/$1"; else echo "$1"; fi; }

fits() { [ "$(replay "$1" < "$booted_log")" = "$(pcr_value "$1")" ]; }

# What this boot measured. The kernel has the firmware's log only if GRUB started it as an EFI program, which Debian's
# does with Secure Boot on; else it is written down from the stub, and believed because it gives PCRs 8 and 9.
remember_log() {
  if [ -s "$log" ]; then
    read_log > "$booted_log"
  else
    stub=$(find_stub)
    source=$(findmnt -no SOURCE /boot/efi)
    partition=$(cat "/sys/class/block/${source##*/}/partition")
    for disk in 0 1 2 3 4 5 6 7; do
      folder=${stub#/boot/efi}
      derive_log "hd$disk,gpt$partition" "${folder%/grub.cfg}" "$stub" > "$booted_log"
      if fits 8; then break; fi
    done
  fi
  fits 4 || sed -i '/^4 /d' "$booted_log"
  fits 8 && fits 9 || { rm -f "$booted_log"; return 1; }
}

hex_text() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }
hash_of() { sha256sum < "$1" | cut -c 1-64; }
hash_of_text() { printf %s "$1" | sha256sum | cut -c 1-64; }

# The value of PCR $1 after the events on standard input.
replay() {
  value=$zero
  while read -r pcr digest _; do
    [ "$pcr" = "$1" ] || continue
    value=$(from_hex "$value$digest" | sha256sum | cut -c 1-64)
  done
  echo "$value"
}

number_at() { od -An -v -tu"$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# The hash of an EFI program as firmware measures it into PCR 4: without its checksum and its signatures.
hash_of_program() {
  header=$(($(number_at "$1" 60 4) + 24))
  sum=$((header + 64)) directory=$((header + 144))
  end=$(number_at "$1" "$directory" 4)
  [ "$end" -gt 0 ] || end=$(wc -c < "$1")
  {
    head -c "$sum" "$1"
    head -c "$directory" "$1" | tail -c +$((sum + 5)) # in this order neither ends before the other has written
    head -c "$end" "$1" | tail -c +$((directory + 9))
  } | sha256sum | cut -c 1-64
}

# Which files were started in this boot, with what PCR 4 got for them; all that are there if the log is not.
programs=/etc/kindling/booted-programs
note_programs() {
  for file in /boot/efi/EFI/*/*.efi /boot/efi/EFI/*/*.EFI "/boot/vmlinuz-$(uname -r)"; do
    [ -f "$file" ] || continue
    digest=$(hash_of_program "$file")
    if grep -q "^4 $digest " "$booted_log" || ! grep -q '^4 ' "$booted_log"; then
      case $file in /boot/vmlinuz-*) file=kernel ;; esac
      echo "$digest $file"
    fi
  done > "$programs"
}

# Replaces the digest of the one event of PCR $1 whose text has $2 in it.
replace() {
  text=$(hex_text "$2")
  [ "$(grep -c "^$1 [0-9a-f]* [0-9a-f]*$text" "$work/next")" = 1 ] || give_up "the boot log has not one event with \"$2\""
  sed -i "s/^\($1\) [0-9a-f]* \([0-9a-f]*$text\)/\1 $3 \2/" "$work/next"
}

# The PCR values of the next boot, from the log of this one with everything replaced that the new files change.
foretell() {
  cp "$booted_log" "$work/next"
  linux=$(linux_line) linux=${linux# } initrd=$(entry_of initrd)
  kernel=$(in_boot "${linux%% *}")
  replace 8 'grub_cmd: linux ' "$(hash_of_text "linux $linux")"
  replace 8 'kernel_cmdline: ' "$(hash_of_text "$linux")"
  replace 8 'grub_cmd: initrd ' "$(hash_of_text "initrd $initrd")"
  replace 9 /vmlinuz- "$(hash_of "$kernel")"
  replace 9 /initrd.img- "$(hash_of "$(in_boot "$initrd")")"
  replace 9 "/EFI/${stub#/boot/efi/EFI/}" "$(hash_of "$1")"
  while read -r digest file; do
    [ "$file" = kernel ] && file=$kernel
    now=$(hash_of_program "$file")
    sed -i "s/^4 $digest /4 $now /" "$work/next"
    if [ "$now" != "$digest" ] && [ "$file" != "$kernel" ] && ! grep -q '^4 ' "$work/next"; then
      give_up "$file has changed, and there is no log of the firmware: the next boot will ask for the recovery key"
    fi
  done < "$programs"
  if grep -q '^4 ' "$work/next"; then replay 4 < "$work/next"; else pcr_value 4; fi > "$work/four"
  echo "$(cat "$work/four")$(pcr_value 7)$(replay 8 < "$work/next")$(replay 9 < "$work/next")$zero"
}

# --- the commands ----------------------------------------------------------------------------------------------

menu() {
  stub=$(find_stub)
  make_stub "$stub" > "$work/stub"
  place_stub "$work/stub" "$stub"
}

remember_boot() {
  if remember_log; then
    note_programs
  else
    say "this boot did not go as /usr/local/lib/kindling/seal arranged it: after an update the recovery key will be needed"
  fi
}

booted() {
  how=$(cat "$opened" 2>/dev/null || echo unknown)
  make_parent || give_up "the TPM does not answer"
  case $how in
    measured\ *)
      raise_counter "${how#measured }"
      remember_boot
      return
      ;;
    first | recovery) ;;
    *) return ;;
  esac
  values=$(values_of_this_boot)
  case $values in
    *$zero*$zero)
      say "the boot loader of this machine measures nothing: the key stays sealed as the installer left it"
      return
      ;;
  esac
  make_counter
  until=$(($(counter) + 1))
  write_seal "$values" "$until" 1
  raise_counter "$until"
  cryptsetup token remove --token-id 2 "$volume" 2>/dev/null || true
  echo "measured $until" > "$opened"
  remember_boot
  # The key that any system could ask for; from here on the seal is the only way.
  tpm2 evictcontrol -Q -C o -c "$FIRST" 2>/dev/null || true
  say "the key of the disk is sealed to this boot"
}

next() {
  how=$(cat "$opened" 2>/dev/null || true)
  stub=$(find_stub)
  case $how in
    measured\ *) ;;
    *) # nothing is sealed yet: before the first boot only the menu follows a new kernel
      if grep -q '^if sleep' "$stub"; then menu; fi
      return
      ;;
  esac
  make_stub "$stub" > "$work/stub"
  [ -s "$booted_log" ] || give_up "nobody knows what this boot measured: the next one will ask for the recovery key"
  values=$(foretell "$work/stub")
  one=$(until_of 1) two=$(until_of 2)
  for token in 1 2; do
    if [ "$(until_of "$token")" -ge "${how#measured }" ] && [ "$(field "$(read_token "$volume" "$token")" values)" = "$values" ]; then
      place_stub "$work/stub" "$stub"
      return
    fi
  done
  make_parent || give_up "the TPM does not answer"
  # Never over the seal of this boot: until the new one has proved itself, the old one stays.
  if [ "$one" = "${how#measured }" ]; then free=2; else free=1; fi
  if [ "$one" -gt "$two" ]; then newest=$one; else newest=$two; fi
  write_seal "$values" $((newest + 1)) "$free"
  place_stub "$work/stub" "$stub"
  say "the key of the disk is sealed to the next boot, too"
}

case ${1:-} in
  menu) menu ;;
  booted) booted ;;
  next) next ;;
  *) give_up "seal menu, booted or next" ;;
esac
