/** aa:bb:cc:dd:ee:ff from any usual way to write it; undefined if it is not a MAC address or identifies nothing. */
export function parseMac(text: string): string | undefined {
  const digits = text.trim().toLowerCase().replaceAll(/[:.-]/g, '');
  if (!/^[0-9a-f]{12}$/.test(digits) || /^(0+|f+)$/.test(digits)) return undefined;
  return (digits.match(/../g) ?? []).join(':');
}

/** A text that may be a MAC as we write one; any other text in lower case, so that it can be looked up and shown. */
export function normalizeMac(text: string): string {
  return text.trim().toLowerCase().replaceAll('-', ':');
}
