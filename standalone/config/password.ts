const HASHES = [
  /^\$6\$(rounds=\d+\$)?[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{86}$/,
  /^\$y\$[./0-9A-Za-z]+\$[./0-9A-Za-z]{1,86}\$[./0-9A-Za-z]{43}$/,
  /^\$2[aby]\$\d\d\$[./0-9A-Za-z]{53}$/,
];

export type Password =
  | { kind: 'hash'; hash: string }
  | { kind: 'clear'; text: string }
  | { kind: 'bad'; reason: string };

/** What stands in the config file: a crypt(3) hash, or base64 of the password (one final line break is dropped). */
export function readPassword(written: string): Password {
  if (HASHES.some((pattern) => pattern.test(written))) return { kind: 'hash', hash: written };
  const bad = (reason: string): Password => ({ kind: 'bad', reason });
  const wanted =
    'must be base64 or a crypt(3) hash ($6$…, $y$…, $2b$…); “openssl passwd -6” asks for a password and prints its hash';
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(written) || written.length % 4 !== 0) return bad(wanted);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(written, 'base64'));
  } catch {
    return bad(`${wanted}; this base64 is not UTF-8 text`);
  }
  if (text.endsWith('\n')) text = text.slice(0, -1);
  if (text === '') return bad('the password is empty');
  if (/[\0\n\r]/.test(text)) return bad('the password holds a line break or NUL');
  return { kind: 'clear', text };
}
