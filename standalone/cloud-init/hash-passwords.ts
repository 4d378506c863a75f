import { KindlingError } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
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
  const { stdout } = await run('openssl', ['passwd', '-6', '-stdin'], { input: `${text}\n` });
  const hash = stdout.trim();
  if (!hash.startsWith('$6$'))
    throw new KindlingError('KND_COMMAND_FAILED', 'openssl passwd -6 did not give a SHA-512 crypt hash');
  return hash;
}
