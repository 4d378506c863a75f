import { COMMIT_BOOT_ORDER } from '../../protocol/commit-boot-order.ts';
import type { FileToPlace } from '../target-root/place-file.ts';

const UNIT = 'kindling-first-boot-report.service';
const SCRIPT = '/usr/local/lib/kindling/first-boot-report';

export interface Report {
  url: string;
  /** PEM; the site's own CA, if the address is https and signed by it. */
  caCertificate?: string | undefined;
}

/**
 * A unit that tells the orchestrator, once, that the installed system is up, and a script that needs nothing but a shell and one of curl,
 * wget, python3 or bash. A marker keeps it from running again; where / lasts, it removes itself.
 */
export function reportFiles({ url, caCertificate }: Report): FileToPlace[] {
  return [
    { path: `/etc/systemd/system/${UNIT}`, contents: unit() },
    { path: SCRIPT, contents: script(new URL(url).href, caCertificate !== undefined), mode: 0o700 },
    ...(caCertificate === undefined ? [] : [{ path: `${SCRIPT}.pem`, contents: caCertificate }]),
  ];
}

/** Where the unit is linked to run at boot: relative, so that it is right inside and outside the target. */
export const ENABLE_LINK = {
  path: `/etc/systemd/system/multi-user.target.wants/${UNIT}`,
  target: `../${UNIT}`,
} as const;

function unit(): string {
  return `# Written by Kindling when this system was installed; removes itself after its first success.
[Unit]
Description=Tell the orchestrator that this system is up
Wants=network-online.target
After=network-online.target cloud-final.service
ConditionPathExists=!/var/lib/kindling/first-boot-reported
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh ${SCRIPT}
Restart=on-failure
RestartSec=10
`;
}

/** Quotes for sh: everything between single quotes is itself. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function script(url: string, hasCa: boolean): string {
  return `#!/bin/sh
# Tells the orchestrator that this system is up. Ends with an error if it could not, and systemd tries again.
url=${quote(url)}
ca=${hasCa ? `${SCRIPT}.pem` : ''}
state=$(cloud-init status 2>/dev/null | sed -n 's/^status: *//p' | tr -cd 'a-z')
boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
kernel=$(uname -r)
name=$(uname -n)
body='{"hostname":"'$name'","kernel":"'$kernel'","bootId":"'$boot_id'","cloudInit":"'\${state:-absent}'"}'

send() {
  if command -v curl >/dev/null 2>&1; then
    # The address is a credential: on the command line every user of the system could read it.
    printf 'url = "%s"\\n' "$url" | curl -fsS -m 30 \${ca:+--cacert "$ca"} -H 'Content-Type: application/json' -d "$body" -K - >/dev/null
  elif command -v wget >/dev/null 2>&1; then
    wget -q -T 30 \${ca:+--ca-certificate="$ca"} --header='Content-Type: application/json' --post-data="$body" -O /dev/null "$url"
  elif command -v python3 >/dev/null 2>&1; then
    URL=$url BODY=$body CA=$ca python3 -c 'import os,ssl,urllib.request as u
r=u.Request(os.environ["URL"],os.environ["BODY"].encode(),{"Content-Type":"application/json"})
c=ssl.create_default_context(cafile=os.environ["CA"] or None) if r.type=="https" else None
u.urlopen(r,timeout=30,context=c)'
  elif [ -x /bin/bash ] && [ "\${url#http://}" != "$url" ]; then
    URL=$url BODY=$body bash --norc -c 'rest=\${URL#http://}; host=\${rest%%/*}; path=/\${rest#*/}; port=\${host#*:}; [ "$port" = "$host" ] && port=80
exec 5<>/dev/tcp/\${host%%:*}/$port || exit 1
printf "POST %s HTTP/1.1\\r\\nHost: %s\\r\\nContent-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s" "$path" "$host" "\${#BODY}" "$BODY" >&5
read -r -t 30 _ status _ <&5; [ "\${status%??}" = 2 ]'
  else
    echo 'no curl, wget, python3 or bash to report with' >&2
    return 1
  fi
}

${COMMIT_BOOT_ORDER}
send || exit 1
mkdir -p /var/lib/kindling && : > /var/lib/kindling/first-boot-reported
commit_boot_order || echo 'the firmware does not take the boot order' >&2
rm -f ${ENABLE_LINK.path} /etc/systemd/system/${UNIT} ${SCRIPT} ${SCRIPT}.pem 2>/dev/null
exit 0
`;
}
