import { KindlingError } from '../../protocol/error.ts';

/**
 * As whom an image wants to run (OCI image configuration, "User": user, uid, user:group, …): names are looked up in the image's own files. A name that is
 * not there is an error, never root.
 */
export function imageUser(text: string, passwd: string, group: string): { uid: number; gid: number } {
  const [user = '', wantedGroup] = text.split(':');
  if (user === '') return { uid: 0, gid: 0 };
  const entry = lines(passwd).find(([name, , uid]) => name === user || uid === user);
  const uid = numeric(user) ?? numeric(entry?.[2]);
  const gid =
    wantedGroup === undefined
      ? (numeric(entry?.[3]) ?? 0)
      : (numeric(wantedGroup) ?? numeric(lines(group).find(([name]) => name === wantedGroup)?.[2]));
  if (uid !== undefined && gid !== undefined) return { uid, gid };
  throw new KindlingError(
    'KND_CONTAINER_FAILED',
    `the image wants to run as "${text}", whom it does not know`,
  );
}

const lines = (file: string) => file.split('\n').map((line) => line.split(':'));

const numeric = (text: string | undefined) => (text && /^\d+$/.test(text) ? Number(text) : undefined);
