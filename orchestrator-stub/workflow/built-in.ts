import { readFileSync } from 'node:fs';

export interface Template {
  name: string;
  text: string;
  isBuiltIn: boolean;
}

/** The templates that come with the stub: files a person can read. */
export function builtInTemplates(): Template[] {
  return ['microvisor', 'ubuntu'].map((name) => ({ name, text: read(`${name}.yaml`), isBuiltIn: true }));
}

export function cloudInitTemplate(): string {
  return read('cloud-init.cfg');
}

function read(file: string): string {
  return readFileSync(new URL(`./templates/${file}`, import.meta.url), 'utf8');
}
