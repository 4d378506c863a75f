#!/bin/sh
# Before the files of the package go: end the services. An upgrade restarts them instead (postinst).
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop kindling.service kindling-pxe.service kindling-mirror.service >/dev/null || true
fi
