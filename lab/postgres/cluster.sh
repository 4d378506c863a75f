#!/bin/sh
# cluster.sh SOCKET_FOLDER: a PostgreSQL server that leaves nothing behind. Runs as root in a mount and a PID namespace of its own
# (unshare --mount --pid --fork --kill-child): its files are in memory that only this namespace sees, and its processes end with it.
set -eu
sockets=$1
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
data=/mnt/data

mount -t tmpfs tmpfs /mnt
mkdir "$data"
chown postgres: "$data" "$sockets"
chmod 700 "$data"

# PostgreSQL refuses to run as root. This shell stays root, and the first process of its namespace: a process that changes its user
# loses the signal that it is to get when its parent dies, and all others end with the first one.
as_postgres() {
  setpriv --reuid postgres --regid postgres --clear-groups -- "$@"
}

as_postgres "$programs/initdb" --pgdata="$data" --no-sync --auth=trust --encoding=UTF8 --locale=C.UTF-8 --username=kindling >/dev/null
cd /
as_postgres "$programs/postgres" -D "$data" -k "$sockets" \
  -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=60 \
  -c shared_buffers=16MB -c log_min_messages=fatal -c unix_socket_permissions=0777 &
wait
