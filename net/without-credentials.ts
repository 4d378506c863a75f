/** An address as it may be shown: without user and password, and without the query, where signed addresses carry their key. */
export function withoutCredentials(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  parsed.search = '';
  return parsed.href;
}
