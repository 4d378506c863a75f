#!/bin/sh
# After the files of the package are in place: the user, the state folder, the service.
set -e

if [ "$1" = configure ]; then
    install -d -m 0700 /var/lib/kindling
    if ! getent passwd kindling >/dev/null; then
        adduser --system --group --home /var/lib/kindling --no-create-home --gecos "Kindling" kindling >/dev/null
    fi
    chown kindling:kindling /var/lib/kindling
    deb-systemd-helper unmask kindling.service >/dev/null || true
    if deb-systemd-helper --quiet was-enabled kindling.service; then
        deb-systemd-helper enable kindling.service >/dev/null || true
    else
        deb-systemd-helper update-state kindling.service >/dev/null || true
    fi
    # Network boot and mirror are for people who have set them up: they are left as they are.
    if [ -d /run/systemd/system ]; then
        systemctl --system daemon-reload >/dev/null || true
        if [ -n "$2" ]; then
            deb-systemd-invoke try-restart kindling.service kindling-pxe.service kindling-mirror.service >/dev/null || true
        fi
        deb-systemd-invoke start kindling.service >/dev/null || true
    fi
fi
