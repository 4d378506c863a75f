#!/bin/sh
# What an installed system says of itself, and how it sends it. first-boot-script.ts puts it before first-boot.sh and agents.sh.
# Needs a shell, sed, tr and od, and to send anything one of curl, wget, python3 or bash.
ca='' # file with the CA of the server, if it is the site's own

# Only what is harmless in JSON, whatever the system calls itself.
word() { tr -cd '@A-Za-z0-9._/:+~-'; }
sentence() { tr '\n' ' ' | tr -cd '@A-Za-z0-9._/:+~ ,;()=-' | cut -c 1-500; }

cloud_init_state() { cloud-init status 2>/dev/null | sed -n 's/^status: *//p' | word; }

# Units that systemd could not start or that died, as a JSON list.
failed_units() {
  comma=''
  for unit in $(systemctl list-units --state=failed --plain --no-legend 2>/dev/null | sed -n '1,20s/ .*//p'); do
    printf '%s"%s"' "$comma" "$(printf '%s' "$unit" | word)"
    comma=,
  done
}

# The members of the report that every report has.
facts() {
  state=$(cloud_init_state)
  boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
  address=$(ip -4 -o addr show scope global 2>/dev/null | sed -n '1s/.* inet \([0-9./]*\).*/\1/p')
  printf '"hostname":"%s","kernel":"%s","bootId":"%s"' "$(uname -n | word)" "$(uname -r | word)" "$boot_id"
  printf ',"cloudInit":"%s","failedUnits":[%s],"address":"%s"' "${state:-absent}" "$(failed_units)" "$address"
}

# send ADDRESS BODY
send() {
  body=$2
  if command -v curl >/dev/null 2>&1; then
    # Not on the command line, where every user of the system could read the address.
    printf 'url = "%s"\n' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')" |
      curl -fsS -m 30 ${ca:+--cacert "$ca"} -H 'Content-Type: application/json' -d "$body" -K - >/dev/null
  elif command -v wget >/dev/null 2>&1; then
    wget -q -T 30 ${ca:+--ca-certificate="$ca"} --header='Content-Type: application/json' --post-data="$body" -O /dev/null "$1"
  elif command -v python3 >/dev/null 2>&1; then
    URL=$1 BODY=$body CA=$ca python3 -c 'import os,ssl,urllib.request as u
r=u.Request(os.environ["URL"],os.environ["BODY"].encode(),{"Content-Type":"application/json"})
c=ssl.create_default_context(cafile=os.environ["CA"] or None) if r.type=="https" else None
u.urlopen(r,timeout=30,context=c)'
  elif [ -x /bin/bash ] && [ "${1#http://}" != "$1" ]; then
    # shellcheck disable=SC2016 # for bash to expand
    URL=$1 BODY=$body bash --norc -c 'rest=${URL#http://}; host=${rest%%/*}; path=/${rest#*/}; port=${host#*:}; [ "$port" = "$host" ] && port=80
exec 5<>/dev/tcp/${host%%:*}/$port || exit 1
printf "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s" "$path" "$host" "${#BODY}" "$BODY" >&5
read -r -t 30 _ status _ <&5; [ "${status%??}" = 2 ]'
  else
    echo 'no curl, wget, python3 or bash to report with' >&2
    return 1
  fi
}
