/** What a person may do at a site, from the least to the most; an auditor sees everything, changes nothing and reads no secret. */
export const ROLES = ['viewer', 'technician', 'operator', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Who calls, as far as a bearer token says. */
export interface Person {
  name: string;
  role: Role;
  /** When the token ends; null: never. */
  expires: string | null;
}

/** A person as an admin sees one. */
export interface PersonView {
  name: string;
  role: Role;
  createdAt: string;
  isDisabled: boolean;
  /** Tokens that work today. */
  tokens: number;
}

/** A personal token without its secret, which nobody keeps. */
export interface TokenView {
  id: string;
  person: string;
  createdAt: string;
  expiresAt: string;
}
