import type { Path, Report } from '../issue.ts';
import { isCleanAbsolutePath, isDnsName, isHost, isOwner, isPermissions } from '../names.ts';
import type { Config } from '../schema.ts';
import { decodeContent } from './file-content.ts';

const AT: Path = ['operatingSystem'];
const UNIT = /^[A-Za-z0-9:_.@\\-]+$/;

/** OS107–OS113: time, memory, services, files and commands of the operating system. */
export function checkSystem(config: Config, report: Report): void {
  const os = config.operatingSystem;
  if (os === undefined) return;
  if (os.hostname !== undefined && !isDnsName(os.hostname)) {
    report(
      'OS112',
      [...AT, 'hostname'],
      `"${os.hostname}" is not a host name: a–z, 0–9 and -, at most 63 a part`,
    );
  }
  if (os.timezone !== undefined && !/^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/.test(os.timezone)) {
    report('OS112', [...AT, 'timezone'], `"${os.timezone}" is not a time zone like Europe/Berlin`);
  }
  os.ntpServers?.forEach((server, index) => {
    if (!isHost(server))
      report('OS107', [...AT, 'ntpServers', index], `"${server}" is not a host name or address`);
  });
  for (const key of ['lvmSizeGiB', 'hugePages'] as const) {
    const value = os[key];
    if (value !== undefined && (!Number.isInteger(value) || value < 0)) {
      report('OS108', [...AT, key], `${value} is not a whole number of 0 or more`);
    }
  }
  if ((os.lvmSizeGiB ?? 0) > 0 && config.image?.profile !== 'emt') {
    report(
      'OS114',
      [...AT, 'lvmSizeGiB'],
      'the volume group lvmvg is made; the image must have lvm2 to use it',
    );
  }
  checkServices(os.services, report);
  checkFiles(os.writeFiles, report);
  os.runCommands?.forEach((command, index) => {
    const words = typeof command === 'string' ? [command] : command;
    const isEmpty = words.length === 0 || words.join('').trim() === '';
    if (isEmpty || words.some((word) => word.includes('\0'))) {
      report(
        'OS111',
        [...AT, 'runCommands', index],
        isEmpty ? 'the command is empty' : 'the command holds NUL',
      );
    }
  });
  if (config.kubernetes !== undefined && os.hostType !== undefined && os.hostType !== 'kubernetes') {
    report('OS113', [...AT, 'hostType'], `hostType is ${os.hostType}: the kubernetes section is ignored`);
  }
}

type Services = NonNullable<Config['operatingSystem']>['services'];

function checkServices(services: Services, report: Report): void {
  const enabled = new Set(services?.enable ?? []);
  for (const key of ['enable', 'disable'] as const) {
    services?.[key]?.forEach((unit, index) => {
      const path = [...AT, 'services', key, index];
      if (!UNIT.test(unit)) report('OS109', path, `"${unit}" is not a unit name`);
      else if (key === 'disable' && enabled.has(unit)) report('OS109', path, `"${unit}" is enabled as well`);
    });
  }
}

type Files = NonNullable<Config['operatingSystem']>['writeFiles'];

function checkFiles(files: Files, report: Report): void {
  const paths = new Set<string>();
  files?.forEach((file, index) => {
    const at = [...AT, 'writeFiles', index];
    if (file.path === undefined) report('OS110', at, 'path is missing');
    else if (!isCleanAbsolutePath(file.path)) {
      report('OS110', [...at, 'path'], `"${file.path}" must be an absolute clean path`);
    } else if (paths.has(file.path) && file.append !== true) {
      report('OS110', [...at, 'path'], `"${file.path}" is there twice`);
    } else paths.add(file.path);
    if (file.content === undefined) report('OS110', at, 'content is missing');
    else {
      const decoded = decodeContent(file.content, file.encoding);
      if (decoded.fault !== undefined) report('OS110', [...at, 'content'], decoded.fault);
    }
    if (file.permissions !== undefined && !isPermissions(file.permissions)) {
      report('OS110', [...at, 'permissions'], `"${file.permissions}" is not an octal mode like "0644"`);
    }
    if (file.owner !== undefined && !isOwner(file.owner)) {
      report('OS110', [...at, 'owner'], `"${file.owner}" is not user or user:group`);
    }
  });
}
