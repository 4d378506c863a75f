import { whyJunkText } from '../../formats/junk-identity.ts';

/** EMF's rule, to the letter (docs/background/emf.md#onboarding-stream). */
export const EMF_SERIAL_PATTERN = /^[A-Za-z0-9]{5,20}$/;
/** As firmware has them: up to 64 characters, no mark that means something to YAML, a shell or a template. */
const SERIAL_PATTERN = /^(?=.{1,64}$)[A-Za-z0-9](?:[A-Za-z0-9 ._/-]*[A-Za-z0-9])?$/;
export const SERIAL_RULE = 'up to 64 letters, digits, spaces, dots, dashes, slashes and underscores';

/** What an invalid serial becomes (docs/background/emf.md#onboarding-stream). */
export const NO_SERIAL = 'N/A';

/** Whether a machine can be told by this text. A strict server takes what EMF takes, and nothing else. */
export function isSerial(text: string, isStrict = false): boolean {
  if (EMF_SERIAL_PATTERN.test(text)) return true;
  // EMF's rule shuts most placeholders out by their spaces and dots; the wider one must do it by name.
  return !isStrict && SERIAL_PATTERN.test(text) && whyJunkText(text) === undefined;
}
