import { fail } from './errors.ts';
import { GoMap } from './values.ts';

/** url.Parse and URL.String of Go, over bytes, as far as sprig's urlParse and urlJoin show them. */
export function parseUrl(text: string): GoMap {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses exactly these.
  if (/[\x00-\x1f\x7f]/.test(text))
    fail(`unable to parse url: parse ${JSON.stringify(text)}: net/url: invalid control character in URL`);
  const [beforeHash = '', fragment = ''] = splitOnce(text, '#');
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(beforeHash)?.[1] ?? '';
  if (!scheme && /^:/.test(beforeHash))
    fail(`unable to parse url: parse ${JSON.stringify(text)}: missing protocol scheme`);
  const afterScheme = scheme ? beforeHash.slice(scheme.length + 1) : beforeHash;
  const [rest = '', query = ''] = splitOnce(afterScheme, '?');
  const parts = {
    scheme: scheme.toLowerCase(),
    host: '',
    path: '',
    query,
    opaque: '',
    fragment: unescaped(fragment),
    userinfo: '',
  };
  if (!rest.startsWith('/') && scheme) parts.opaque = rest;
  else if (rest.startsWith('//') && !rest.startsWith('///')) {
    const authority = /^\/\/([^/]*)/.exec(rest)?.[1] ?? '';
    const at = authority.lastIndexOf('@');
    parts.userinfo = at === -1 ? '' : userinfo(authority.slice(0, at));
    parts.host = unescaped(authority.slice(at + 1));
    if (/:[^\]]*$/.test(parts.host) && !/:\d*$/.test(parts.host))
      fail(
        `unable to parse url: parse ${JSON.stringify(text)}: invalid port ${JSON.stringify(/:[^:]*$/.exec(parts.host)?.[0])} after host`,
      );
    parts.path = unescaped(rest.slice(2 + authority.length), text);
  } else {
    if (!scheme && /^[^/]*:/.test(rest))
      fail(
        `unable to parse url: parse ${JSON.stringify(text)}: first path segment in URL cannot contain colon`,
      );
    parts.path = unescaped(rest, text);
  }
  const hostname = /^\[(.*)\]/.exec(parts.host)?.[1] ?? parts.host.replace(/:\d*$/, '');
  return new GoMap(Object.entries({ ...parts, hostname }));
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function unescaped(text: string, whole = text): string {
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(text)?.[0];
  if (bad !== undefined)
    fail(`unable to parse url: parse ${JSON.stringify(whole)}: invalid URL escape ${JSON.stringify(bad)}`);
  return text.replaceAll(/%([0-9a-fA-F]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function userinfo(text: string): string {
  const [user = '', password] = splitOnce(text, ':');
  return password === undefined
    ? escaped(unescaped(user), /[$&+,;=]/)
    : `${escaped(unescaped(user), /[$&+,;=]/)}:${escaped(unescaped(password), /[$&+,;=]/)}`;
}

function escaped(text: string, allowed: RegExp): string {
  return text.replace(/[^A-Za-z0-9\-_.~]/g, (byte) =>
    allowed.test(byte) ? byte : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

export function joinUrl(parts: GoMap): string {
  const part = (key: string): string => {
    const value = parts.entries.get(key);
    if (value === undefined) return '';
    return typeof value === 'string' ? value : fail(`unable to parse ${key} key, must be of type string`);
  };
  let url = part('scheme') && `${part('scheme')}:`;
  if (part('opaque')) url += part('opaque');
  else {
    const [host, path] = [part('host'), escaped(part('path'), /[$&+,/:;=@]/)];
    const user = part('userinfo') && userinfo(part('userinfo'));
    if (part('scheme') || host || user) {
      if (host || path || user) {
        if (host || user) url += '//';
        url += (user && `${user}@`) + escaped(host, /[!$&'()*+,;=:[\]<>"]/);
      }
    }
    if (path && !path.startsWith('/') && host) url += '/';
    if (url === '' && /^[^/]*:/.test(path)) url += './';
    url += path;
  }
  if (part('query')) url += `?${part('query')}`;
  if (part('fragment')) url += `#${escaped(part('fragment'), /[$&+,/:;=?@!()*]/)}`;
  return url;
}
