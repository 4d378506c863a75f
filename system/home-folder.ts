import { homedir } from 'node:os';

/** The home of the user we run as. A container may have neither HOME nor a list of users: then it is the root folder. */
export function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}
