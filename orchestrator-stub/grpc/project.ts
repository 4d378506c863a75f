import { status } from '@grpc/grpc-js';
import { UUID_PATTERN } from '../nodes/registration.ts';
import { refusal } from './refusal.ts';

const ROLE = /^([0-9a-fA-F-]{36})_.*(en-agent-rw|en-ob)/;
const WRITE_ROLE = /^[0-9a-fA-F-]{36}_(en-agent-rw|en-ob)$/;

/**
 * The project a call is about: the header `activeprojectid`, else the one the caller's roles name
 * (docs/background/emf.md#project-of-a-call). Without roles (a site that asks for no tokens) it is the site's own.
 */
export function decideProject(
  active: string | undefined,
  roles: readonly string[] | undefined,
  own: string,
): { id: string; isAllowed: boolean } {
  const chosen = active && UUID_PATTERN.test(active) ? active : undefined;
  if (!roles) return { id: chosen ?? own, isAllowed: true };
  const projects = new Set(roles.flatMap((role) => ROLE.exec(role)?.[1] ?? []));
  if (!chosen && projects.size > 1) {
    throw refusal(status.UNAUTHENTICATED, 'Credentials from EN should belong to a single Project!');
  }
  const id = chosen ?? [...projects][0];
  if (!id) throw refusal(status.UNAUTHENTICATED, 'the token names no project');
  const isAllowed = roles.some((role) => WRITE_ROLE.test(role) && role.startsWith(`${id}_`));
  return { id, isAllowed };
}
