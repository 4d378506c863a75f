#!/bin/sh
# Made by Kindling. Sourced by "unlock" in the initramfs and by "seal" in the installed system: what both must do in
# the same way, or the TPM refuses. The caller sets $work, a folder that only root can read.
# shellcheck disable=SC2034,SC2154  # the callers use and set them

# SHA-256 bank. 4: boot programs. 7: Secure Boot and its keys. 8: GRUB's commands and the kernel's command line.
# 9: files that GRUB read: its menu, kernel, initramfs. 15: zero until a system has opened the disk.
PCRS=4,7,8,9,15
# An NV counter that only ever grows, even if somebody deletes it and makes it again: it ends the validity of older seals.
COUNTER=0x1504b44
# Where tpm2-initramfs-tool keeps the key that the installer gave it.
FIRST=0x81000000
export TPM2TOOLS_TCTI=device:/dev/tpmrm0
export TSS2_LOG=all+NONE

# The parent of sealed keys follows from the TPM's own seed: it is the same at every boot, and different in every TPM.
# Sessions are salted with it, so what the TPM answers is encrypted on its bus. noda: a power cut after the use of a
# protected key counts as a wrong password, and a few of them would lock the TPM.
make_parent() {
  tpm2 createprimary -Q -C o -g sha256 -G ecc \
    -a 'restricted|decrypt|fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda' -c "$work/parent" 2>/dev/null &&
    tpm2 readpublic -Q -c "$work/parent" -n "$work/parent.name" 2>/dev/null
}

hex_of() { od -An -v -tx1 "$1" | tr -d ' \n'; }

pcr_values() {
  tpm2 pcrread -Q "sha256:$PCRS" -o "$work/now" 2>/dev/null && hex_of "$work/now"
}

# A number as 8 bytes, the way the TPM stores a counter.
counter_bytes() {
  printf '\000\000\000\000'
  for shift in 24 16 8 0; do printf "\\$(printf %03o $((($1 >> shift) & 255)))"; done
}

# Binds the policy session $1 to a counter that is not beyond $2; more arguments go to the tool.
bind_counter() {
  counter_bytes "$2" > "$work/until"
  session=$1
  shift 2
  tpm2 policynv -Q -S "$session" -i "$work/until" -C "$COUNTER" "$COUNTER" ule "$@" 2>/dev/null
}

# The seals are LUKS2 tokens 1 and 2 of the root's volume: the one that is in use, and the one for the next boot.
read_token() {
  cryptsetup token export --token-id "$2" "$1" 2>/dev/null | grep '"kindling-seal"'
}

field() { printf '%s' "$1" | sed -n "s/.*\"$2\": *\"\([^\"]*\)\".*/\1/p"; }

to_text() { base64 < "$1" | tr -d '\n' | tr '/+' '_-'; }
from_text() { printf '%s' "$1" | tr '_-' '/+' | base64 -d; }
