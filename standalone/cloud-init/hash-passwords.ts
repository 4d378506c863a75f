import { execa } from 'execa';
import { KindlingError } from '../../protocol/error.ts';
import { readPassword } from '../config/password.ts';
import type { Config, User } from '../config/schema.ts';

/** The same configuration with every password as a SHA-512 crypt hash, so that none stands in clear on a stick. */
export async function hashPasswords(config: Config): Promise<Config> {
  const users = config.operatingSystem?.users;
  if (users === undefined) return config;
  const hashed: User[] = [];
  for (const user of users) hashed.push(await hashUser(user));
  return { ...config, operatingSystem: { ...config.operatingSystem, users: hashed } };
}

async function hashUser(user: User): Promise<User> {
  if (user.password === undefined) return user;
  const password = readPassword(user.password);
  if (password.kind === 'clear') return { ...user, password: await sha512Crypt(password.text) };
  return user;
}

/** By openssl, over its standard input: a password is never an argument that other users can see. */
async function sha512Crypt(text: string): Promise<string> {
  const { stdout, failed, stderr } = await execa('openssl', ['passwd', '-6', '-stdin'], {
    input: `${text}\n`,
    reject: false,
  });
  if (failed || !stdout.startsWith('$6$')) {
    throw new KindlingError('KND_TOOL_MISSING', `openssl could not hash a password: ${stderr}`, {
      hint: 'Install the Debian package openssl.',
    });
  }
  return stdout.trim();
}
