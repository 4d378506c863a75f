import type { Path, Report } from '../issue.ts';
import { readPassword } from '../password.ts';
import type { Config } from '../schema.ts';

const USERNAME = /^[a-z_][a-z0-9_-]{0,31}$/;

/** What a person asked to let pass. */
export interface LoginPolicy {
  allowNoLogin?: boolean;
  allowShortPassword?: boolean;
}

const SHORTEST_PASSWORD = 8;

/** OS101–OS103, OS106, OS115: who can log in. */
export function checkUsers(config: Config, report: Report, policy: LoginPolicy = {}): void {
  const os = config.operatingSystem;
  const at: Path = ['operatingSystem'];
  if (os === undefined) {
    report('OS101', at, 'operatingSystem is missing; it must have at least one user');
    return;
  }
  if (os.users === undefined || os.users.length === 0) {
    report('OS101', [...at, 'users'], 'at least one user is needed');
  }
  const names = new Set<string>();
  os.users?.forEach((user, index) => {
    const path = [...at, 'users', index];
    const name = user.username;
    if (name === undefined) report('OS101', path, 'username is missing');
    else if (!USERNAME.test(name)) {
      report(
        'OS101',
        [...path, 'username'],
        `"${name}" is not a user name: a–z, 0–9, _ and -, at most 32, no digit first`,
      );
    } else if (names.has(name)) report('OS101', [...path, 'username'], `user "${name}" is there twice`);
    else names.add(name);
    if (user.password !== undefined) {
      const password = readPassword(user.password);
      if (password.kind === 'bad') report('OS102', [...path, 'password'], password.reason);
      if (password.kind === 'clear' && [...password.text].length < SHORTEST_PASSWORD) {
        const message = `the password has fewer than ${SHORTEST_PASSWORD} characters (--allow-short-password lets it pass)`;
        report('OS115', [...path, 'password'], message, policy.allowShortPassword ? 'notice' : undefined);
      }
    }
    user.sshKeys?.forEach((key, number) => {
      checkSshKey(key, [...path, 'sshKeys', number], report);
    });
  });
  if (os.sshKey !== undefined && os.sshKey !== '') checkSshKey(os.sshKey, [...at, 'sshKey'], report);
  const canLogIn =
    (os.sshKey ?? '') !== '' ||
    os.users?.some(({ password, sshKeys }) => password !== undefined || (sshKeys?.length ?? 0) > 0);
  if (!canLogIn) {
    const message = 'no way to log in: no user has a password or an SSH key (--allow-no-login lets it pass)';
    report('OS103', [...at, 'users'], message, policy.allowNoLogin ? 'notice' : undefined);
  }
}

const KEY_TYPES = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
];

function checkSshKey(key: string, path: Path, report: Report): void {
  if (key.includes('PRIVATE KEY')) {
    report('OS106', path, 'looks like a private key; put the public key (the .pub file) here');
    return;
  }
  const [type = '', blob = ''] = key.trim().split(/\s+/);
  if (/[\n\r]/.test(key.trim())) {
    report('OS106', path, 'must be one line: "<type> <base64> [comment]"');
  } else if (!KEY_TYPES.includes(type)) {
    report(
      'OS106',
      path,
      `"${type.slice(0, 40)}" is not a key type; expected "<type> <base64> [comment]", e.g. ssh-ed25519`,
    );
  } else if (!/^[A-Za-z0-9+/]+={0,2}$/.test(blob) || typeInside(blob) !== type) {
    report('OS106', path, `the base64 part is not a key of type ${type}; it may be cut off`);
  }
}

/** An SSH public key blob starts with the length of its type and the type (RFC 4253, 6.6). */
function typeInside(blob: string): string | undefined {
  const bytes = Buffer.from(blob, 'base64');
  if (bytes.length < 4) return undefined;
  const length = bytes.readUInt32BE(0);
  // After the type there is at least one more field.
  return bytes.length > 4 + length + 4 ? bytes.toString('latin1', 4, 4 + length) : undefined;
}
