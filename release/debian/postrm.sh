#!/bin/sh
# After the files of the package are gone. A purge takes the state too: nodes, logs and the keys of the site.
set -e

if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ "$1" = remove ] && command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper mask kindling.service >/dev/null || true
fi
if [ "$1" = purge ]; then
    if command -v deb-systemd-helper >/dev/null; then
        deb-systemd-helper purge kindling.service kindling-pxe.service kindling-mirror.service >/dev/null || true
        deb-systemd-helper unmask kindling.service kindling-pxe.service kindling-mirror.service >/dev/null || true
    fi
    rm -rf /var/lib/kindling
    rmdir --ignore-fail-on-non-empty /etc/kindling 2>/dev/null || true
    if getent passwd kindling >/dev/null && command -v deluser >/dev/null; then
        deluser --quiet --system kindling >/dev/null || true
    fi
fi
