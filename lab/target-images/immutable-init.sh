#!/bin/busybox sh
# shellcheck shell=dash
# First program of the immutable target system: finds its slot, opens it through dm-verity, lays writable places over it.
# The partitions are those that the action fde_dmv makes: 2 and 6 the slots, 4 and 5 their hash trees, 7 the root hashes, 3 what lasts.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
export DM_DISABLE_UDEV=1 # there is no udev yet: dmsetup makes the device nodes itself
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=0755 run /run

# A system that cannot start gives the machine back to its firmware.
fail() {
  echo "immutable target: $1" > /dev/console
  sleep 5
  reboot -f
}

for module in dm-mod dm-bufio reed_solomon dm-verity overlay; do
  insmod "/lib/modules/$module.ko" || fail "the module $module does not load"
done

# 1 the slot that this kernel belongs to
boot_uuid=$(sed -n 's/.*boot_uuid=\([^ ]*\).*/\1/p' /proc/cmdline)
tries=0
until root=$(findfs "UUID=$boot_uuid" 2>/dev/null); do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || fail "no partition has the root $boot_uuid"
  sleep 0.1
done
case $root in
  *2) slot=a hashes=4 ;;
  *6) slot=b hashes=5 ;;
  *) fail "$root is no slot" ;;
esac
disk=${root%[26]}

# 2 its seal (offsets: cryptsetup, lib/verity/verity.c, struct verity_sb)
mount -t ext4 -o ro "${disk}7" /roothash || fail "no root hash"
root_hash=$(cat "/roothash/part_${slot}_roothash")
umount /roothash
blocks=$(od -An -v -tu4 -j72 -N4 "$disk$hashes" | tr -d ' ')
salt_bytes=$(od -An -v -tu2 -j80 -N2 "$disk$hashes" | tr -d ' ')
salt=$(od -An -v -tx1 -j88 -N"$salt_bytes" "$disk$hashes" | tr -d ' \n')
table="0 $((blocks * 8)) verity 1 $root $disk$hashes 4096 4096 $blocks 1 sha256 $root_hash $salt"
dmsetup create rootfs --readonly --table "$table" || fail "the root is not sealed"
mount -t ext4 -o ro /dev/mapper/rootfs /sysroot || fail "the root does not fit its seal"

# 3 what may change: settings, homes and the CAs that cloud-init adds last, /var is new at every start
mount -t ext4 "${disk}3" /sysroot/persistent || fail "no state partition"
for place in etc home opt root usr/share/ca-certificates; do
  state="/sysroot/persistent/overlay/$place"
  mkdir -p "$state/upper" "$state/work"
  mount -t overlay -o "lowerdir=/sysroot/$place,upperdir=$state/upper,workdir=$state/work" overlay "/sysroot/$place" || fail "/$place cannot be written"
done
mkdir -p /run/volatile/upper /run/volatile/work
mount -t overlay -o "lowerdir=/sysroot/var,upperdir=/run/volatile/upper,workdir=/run/volatile/work" overlay /sysroot/var
mount -t tmpfs -o mode=1777 tmp /sysroot/tmp
for place in proc sys dev run; do mount --move "/$place" "/sysroot/$place"; done
exec switch_root /sysroot /sbin/init
