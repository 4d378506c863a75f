import type { Report } from '../issue.ts';
import type { Config } from '../schema.ts';

/** What stands at a path that the config names, relative to the config file. */
export type LookUp = (path: string) => 'file' | 'folder' | undefined;

/** IMG504: what `image` names is there. */
export function checkFilesOfImage({ image }: Config, lookUp: LookUp, report: Report): void {
  if (image?.file !== undefined && lookUp(image.file) !== 'file') {
    report('IMG504', ['image', 'file'], `there is no file ${image.file} beside the config file`);
  }
  if (image?.artifacts !== undefined && lookUp(image.artifacts) !== 'folder') {
    report('IMG504', ['image', 'artifacts'], `there is no folder ${image.artifacts} beside the config file`);
  }
}

/** DISK402, IMG501–IMG503: what can be said about disk and image before a machine is there. */
export function checkDiskAndImage(config: Config, report: Report): void {
  const { disk, image, install } = config;
  for (const key of ['minSizeGiB', 'maxSizeGiB'] as const) {
    const size = disk?.[key];
    if (size !== undefined && !(size > 0)) report('DISK402', ['disk', key], `${size} is not a size`);
  }
  if (disk?.minSizeGiB !== undefined && disk.maxSizeGiB !== undefined && disk.minSizeGiB > disk.maxSizeGiB) {
    report('DISK402', ['disk', 'maxSizeGiB'], 'smaller than minSizeGiB: no disk can match');
  }
  for (const key of ['serial', 'wwn', 'model', 'link'] as const) {
    if (disk?.[key]?.trim() === '')
      report('DISK402', ['disk', key], 'empty: leave it out, or say what to match');
  }
  if (
    disk?.link !== undefined &&
    !/^(\/dev\/disk\/)?by-(id|path|partuuid|uuid|label|diskseq)\//.test(disk.link)
  ) {
    report(
      'DISK402',
      ['disk', 'link'],
      `"${disk.link}" is not a link like by-id/…; kernel names (sda) change between boots`,
    );
  }
  if (disk?.wwn !== undefined && !/^(eui|naa|nvme|t10|uuid)\./.test(disk.wwn)) {
    report('DISK402', ['disk', 'wwn'], `"${disk.wwn}" has no prefix eui., naa. or nvme.`);
  }
  const seconds = install?.countdownSeconds;
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 0 && seconds <= 3600)) {
    report(
      'CFG005',
      ['install', 'countdownSeconds'],
      `${seconds} is not a whole number of seconds up to 3600`,
    );
  }
  if (image === undefined) return;
  if (image.file !== undefined && image.url !== undefined) {
    report('IMG501', ['image', 'url'], 'file and url are both given; leave one out');
  }
  if (image.url !== undefined && !(URL.canParse(image.url) && /^https?:/.test(image.url))) {
    report('IMG501', ['image', 'url'], `"${image.url}" is not an http(s) URL`);
  }
  if (image.sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(image.sha256)) {
    report('IMG501', ['image', 'sha256'], 'must be 64 hex digits');
  }
  if (image.protection !== undefined && image.protection !== 'none' && image.profile !== 'emt') {
    const message = `${image.protection} needs profile emt: only its images have a place for it`;
    report('IMG502', ['image', 'protection'], message);
  }
  if (image.protection === 'encryption') {
    const message =
      'the recovery key is written to the stick, in recovery-keys/: keep it apart from the machine';
    report('IMG503', ['image', 'protection'], message);
  }
}
