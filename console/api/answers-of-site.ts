/** What the console reads of profiles, templates and people; docs/reference/http-api.md has the rest. */
export interface ProfileAnswer {
  name: string;
  osType: 'MUTABLE' | 'IMMUTABLE';
  template: string | null;
  imageUrl: string;
  imageSha256: string;
  security: string;
  eraseMethod: string;
  lvmSizeGb: number;
  localAccount: { user: string; sshKey: string } | null;
}

export interface TemplateAnswer {
  name: string;
  text: string;
  isBuiltIn: boolean;
}

export interface PersonAnswer {
  name: string;
  role: string;
  createdAt: string;
  isDisabled: boolean;
  tokens: number;
}
