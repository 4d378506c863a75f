import { shellQuote } from '../shell-quote.ts';

/** A script with quoted values in place of its empty settings (`name=''` at the beginning of a line). */
export function withSettings(script: string, settings: Record<string, string | undefined>): string {
  return Object.entries(settings).reduce(
    (text, [name, value = '']) =>
      text.replace(new RegExp(`^${name}=''(?=\\s)`, 'm'), () => `${name}=${shellQuote(value)}`),
    script,
  );
}
