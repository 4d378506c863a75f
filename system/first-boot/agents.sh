#!/bin/sh
# The agents of an installed system: waits for their installer, gives them their credentials, starts them, and says how that went.
# systemd runs it again after a failure and after a restart of the machine, until the agents run.
# The settings are empty here; agents-script.ts puts quoted values in their place, and report.sh before it.
url=''            # where to report; the address is a credential
retry_seconds=''  # pause before anything is looked at or tried again
installer_unit='' # the unit that installs the agents; empty where the image has them
installer_done='' # file that the installer leaves when it is done
owner=''          # user:group that may read the credentials
credentials=''    # folder with the credentials
services=''       # units of the agents, separated by spaces
steady_seconds='' # how long an agent must stay up to count as started

# say STATE [REASON]: nothing is said twice in one boot.
say() {
  said=/run/kindling/agents-said
  [ "$(cat $said 2>/dev/null)" = "$*" ] && return
  until send "$url" "{$(facts),\"agents\":\"$1\",\"reason\":\"$(printf '%s' "${2:-}" | sentence)\"}"; do
    sleep "$retry_seconds"
  done
  mkdir -p /run/kindling && printf '%s' "$*" >$said
}

fail() {
  say failed "$1"
  exit 1
}

property() { systemctl show --property="$1" --value "$2" 2>/dev/null; }

# 1. The files for the agents come from cloud-init. This unit starts after it.
if [ "$(cloud_init_state)" = error ]; then
  fail "cloud-init: $(cloud-init status --long 2>/dev/null | sed -n '/^errors:/,$p')"
fi

# 2. The installer
while [ -n "$installer_done" ] && [ ! -e "$installer_done" ]; do
  restarts=$(property NRestarts "$installer_unit")
  if [ "${restarts:-0}" -gt 0 ]; then
    say failed "$installer_unit ended with status $(property ExecMainStatus "$installer_unit") and is not done; it is tried again"
  else
    say installing
  fi
  sleep "$retry_seconds"
done

# 3. The credentials, for the user of the agents. An image without that user keeps them for root.
if [ -n "$owner" ] && id "${owner%%:*}" >/dev/null 2>&1; then
  chown -R "$owner" "$credentials" || fail "the credentials cannot be given to $owner"
fi

# 4. The agents. Restarted, because one that came up by itself may have read the files before they were complete.
for service in $services; do
  systemctl enable "$service" 2>/dev/null # an immutable system may refuse it, and has its own list
  systemctl restart "$service" || fail "$service does not start"
done
if [ -n "$services" ]; then sleep "$steady_seconds"; fi
for service in $services; do
  state=$(property ActiveState "$service")
  restarts=$(property NRestarts "$service")
  [ "$state" = active ] && [ "${restarts:-0}" -eq 0 ] ||
    fail "$service is ${state:-unknown}, ended with status $(property ExecMainStatus "$service") and was started again ${restarts:-0} times"
done

# 5. Done. Below /etc, because immutable systems forget /var at every start.
say ready
mkdir -p /etc/kindling && : >/etc/kindling/agents-started
