#!/bin/sh
# run-in-root.sh ROOT FOLDER PROGRAM [ARGUMENT...]
# Runs a program in a Debian of its own, with this machine's devices. It is started in mount and PID namespaces of its
# own (setup/test-machines/test-machines.ts): the mounts and all processes are gone when the program ends.
set -eu
root=$1
folder=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
cp /etc/resolv.conf "$root/etc/resolv.conf"
export HOME=/root
unset TMPDIR # a folder of this machine's
# Node has its own list of whom it trusts.
export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC2016 # the inner shell is to see these
exec chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
