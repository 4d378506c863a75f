import { readOwnText } from '../../system/own-file.ts';

export interface Template {
  name: string;
  text: string;
  isBuiltIn: boolean;
}

/** The templates that come with the stub: files a person can read. */
export function builtInTemplates(): Template[] {
  return ['iso', 'microvisor', 'ubuntu'].map((name) => ({
    name,
    text: read(`${name}.yaml`),
    isBuiltIn: true,
  }));
}

/** What a node does that came back before its installed system had reported. Not for profiles, so not in the list. */
export function postMortemTemplate(): Template {
  return { name: 'post-mortem', text: read('post-mortem.yaml'), isBuiltIn: true };
}

export function cloudInitTemplate(): string {
  return read('cloud-init.cfg');
}

function read(file: string): string {
  return readOwnText(`orchestrator-stub/workflow/templates/${file}`);
}
