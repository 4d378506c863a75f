/** An address as it may be shown: without login, and without the query, where signed addresses carry their key. Never throws. */
export function redact(address: string): string {
  const url = URL.parse(address);
  // What is no web address may be anything, a password before a name included.
  if (!url || !/^https?:$/.test(url.protocol)) return 'the address';
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?…'}`;
}
