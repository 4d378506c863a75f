import { FIRST_BOOT_MARKER, firstBootScript } from '../../system/first-boot/first-boot-script.ts';
import type { FileToPlace } from '../target-root/place-file.ts';

const UNIT = 'kindling-first-boot-report.service';
const SCRIPT = '/usr/local/lib/kindling/first-boot-report';
const CA_FILE = `${SCRIPT}.pem`;

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
    {
      path: SCRIPT,
      contents: firstBootScript({
        url: new URL(url).href,
        ...(caCertificate === undefined ? {} : { ca: CA_FILE }),
        commitsBootOrder: true,
        remove: [ENABLE_LINK.path, `/etc/systemd/system/${UNIT}`, SCRIPT, CA_FILE],
      }),
      mode: 0o700,
    },
    ...(caCertificate === undefined ? [] : [{ path: CA_FILE, contents: caCertificate }]),
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
ConditionPathExists=!${FIRST_BOOT_MARKER}
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh ${SCRIPT}
Restart=on-failure
RestartSec=10
`;
}
