#!/bin/sh
# Installs a Kindling site mirror on this Debian machine, from the Kindling checkout this script lies in:
#   install-mirror.sh https://orchestrator.example:8443/tink-stack SITE_KEY eth1 [ca.pem]
# Run it again to change the settings or to install a newer Kindling. Needs root.
set -eu

usage() { echo "usage: $0 URL SITE_KEY DEVICE [CA_FILE]" >&2; exit 2; }
[ $# -ge 3 ] && [ $# -le 4 ] || usage
url=$1 key=$2 device=$3 ca=${4:-}
root=${KINDLING_ROOT:-} # another root directory, for images and tests
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)

case $url in http://*|https://*) ;; *) echo "$url is not an address" >&2; usage ;; esac
[ -x "$source/node_modules/.bin/node" ] || { echo "run npm ci in $source first" >&2; exit 3; }
[ -z "$ca" ] || [ -r "$ca" ] || { echo "$ca cannot be read" >&2; exit 3; }

# 1. The program
if [ "$source" != "$root/opt/kindling" ]; then
  mkdir -p "$root/opt/kindling"
  for part in cli netboot site standalone ipxe initrd net formats system protocol docs node_modules package.json; do
    rm -rf "$root/opt/kindling/$part"
    cp -a "$source/$part" "$root/opt/kindling/$part"
  done
fi

# 2. Its settings
mkdir -p "$root/etc/kindling"
options=
if [ -n "$ca" ]; then
  install -m 0644 "$ca" "$root/etc/kindling/mirror-ca.pem"
  options='--ca /etc/kindling/mirror-ca.pem'
fi
cat >"$root/etc/kindling/mirror.env" <<SETTINGS
KINDLING_ORIGIN=$url
KINDLING_SITE_KEY=$key
KINDLING_DEVICE=$device
KINDLING_OPTIONS=$options
SETTINGS

# 3. The service
install -D -m 0644 "$here/kindling-mirror.service" "$root/etc/systemd/system/kindling-mirror.service"
[ -z "$root" ] || exit 0
systemctl daemon-reload
systemctl enable kindling-mirror.service
systemctl restart kindling-mirror.service
echo "kindling-mirror is running: journalctl -u kindling-mirror"
