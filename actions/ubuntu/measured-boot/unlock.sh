#!/bin/sh
# Made by Kindling. Prints the key of an encrypted volume; crypttab names this file, and it runs in the initramfs.
# The TPM gives the key to the boot it was sealed to and to no other; else a person types the recovery key, once for
# all volumes.
found=/run/kindling-disk-key
opened=/run/kindling-opened
work=/run/kindling-unlock
# shellcheck source=actions/ubuntu/measured-boot/tpm-policy.sh
. /usr/local/lib/kindling/tpm-policy.sh

say() { echo "kindling: $*" >&2; }

# What differs between the boot that the seal $1 expects and this one, in words.
explain() {
  values=$(field "$1" values)
  from=1
  for pcr in $(echo "$PCRS" | tr , ' '); do
    to=$((from + 63))
    if [ "$(printf '%s' "$values" | cut -c "$from-$to")" != "$(printf '%s' "$2" | cut -c "$from-$to")" ]; then
      case $pcr in
        4) say "PCR 4 differs: another boot program or kernel was started" ;;
        7) say "PCR 7 differs: Secure Boot was switched, or its keys were changed" ;;
        8) say "PCR 8 differs: another kernel command line, or another entry of the boot menu" ;;
        9) say "PCR 9 differs: another kernel, initramfs or boot menu on the disk" ;;
        15) say "PCR 15 differs: a system was started on this machine since it was switched on" ;;
      esac
    fi
    from=$((to + 1))
  done
}

# Prints the key if the seal in token $1 is for this boot. Salted session: the answer is encrypted on the TPM's bus.
unseal() {
  from_text "$(field "$1" public)" > "$work/public"
  from_text "$(field "$1" private)" > "$work/private"
  tpm2 load -Q -C "$work/parent" -u "$work/public" -r "$work/private" -c "$work/key" 2>/dev/null || return 1
  tpm2 startauthsession -Q --policy-session -c "$work/parent" -S "$work/session" 2>/dev/null || return 1
  tpm2 sessionconfig -Q "$work/session" --enable-encrypt 2>/dev/null &&
    tpm2 policypcr -Q -S "$work/session" -l "sha256:$PCRS" 2>/dev/null &&
    bind_counter "$work/session" "$(field "$1" until)" &&
    tpm2 unseal -Q -c "$work/key" -p "session:$work/session" 2>/dev/null
  result=$?
  tpm2 flushcontext -Q "$work/session" 2>/dev/null
  return $result
}

# The key from one of the seals, or the reason why there is none.
unseal_any() {
  make_parent || { say "the TPM does not answer"; return 1; }
  parent=$(hex_of "$work/parent.name")
  now=$(pcr_values) || return 1
  nearest=
  for token in "$@"; do
    [ -n "$token" ] || continue
    if [ "$(field "$token" parent)" != "$parent" ]; then
      say "this disk was sealed by the TPM of another machine, or the TPM was cleared"
      return 1
    fi
    if [ "$(field "$token" values)" = "$now" ]; then
      if unseal "$token" > "$found" && [ -s "$found" ]; then
        echo "measured $(field "$token" until)" > "$opened"
        return 0
      fi
      rm -f "$found"
      say "these boot files were replaced by newer ones; the TPM does not open the disk to older ones"
      return 1
    fi
    if [ -z "$nearest" ] || [ "$(field "$token" until)" -gt "$(field "$nearest" until)" ]; then nearest=$token; fi
  done
  explain "$nearest" "$now"
  return 1
}

# Until the first boot nobody knows what it measures: the key is where the installer put it.
unseal_first() {
  tpm2-initramfs-tool unseal --pcrs "$(cat /usr/local/lib/kindling/first-pcrs)" -T device:/dev/tpmrm0 2>/dev/null > "$work/first"
  key=$(cat "$work/first")
  [ -n "$key" ] || return 1
  printf %s "$key" > "$found"
  echo first > "$opened"
}

umask 077
if [ "${CRYPTTAB_TRIED:-0}" -eq 0 ]; then
  if [ -s "$found" ]; then exec cat "$found"; fi
  mkdir -p "$work"
  one=$(read_token "$CRYPTTAB_SOURCE" 1)
  two=$(read_token "$CRYPTTAB_SOURCE" 2)
  if [ -n "$one$two" ]; then unseal_any "$one" "$two"; else unseal_first; fi
  rm -rf "$work"
  if [ -s "$found" ]; then exec cat "$found"; fi
  say "the TPM does not give the key of $CRYPTTAB_NAME"
fi
/lib/cryptsetup/askpass "Recovery key for $CRYPTTAB_NAME: " > "$found"
echo recovery > "$opened"
cat "$found"
