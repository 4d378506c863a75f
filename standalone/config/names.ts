import { isIP } from 'node:net';

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/** A DNS name of RFC 1123 labels; one label is enough. */
export function isDnsName(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => DNS_LABEL.test(label));
}

/** A host: DNS name or IP address. A name whose last label is a number would be a wrong IP address. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (isDnsName(text) && !/(^|\.)\d+$/.test(text));
}

export function isMac(text: string): boolean {
  return /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i.test(text);
}

/** Absolute, without empty, `.` or `..` parts, trailing slash, NUL or line break. */
export function isCleanAbsolutePath(path: string): boolean {
  if (!path.startsWith('/') || /[\0\n\r]/.test(path)) return false;
  const parts = path.split('/').slice(1);
  return parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

export function isOwner(text: string): boolean {
  return /^[a-z_][a-z0-9_-]*\$?(:[a-z_][a-z0-9_-]*\$?)?$/i.test(text);
}

export function isPermissions(text: string): boolean {
  return /^0?[0-7]{3,4}$/.test(text);
}
