/**
 * Reads the env_config file of the config archive the way device-discovery does: one KEY=VALUE per line, `#` starts a
 * comment line, split at the first `=`, spaces trimmed. Quotes around a value are dropped, since people write them.
 */
export function parseEnvConfig(content: string): Record<string, string> {
  const entries = content
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && line.includes('='))
    .map((line): [string, string] => {
      const equals = line.indexOf('=');
      const value = line.slice(equals + 1).trim();
      return [line.slice(0, equals).trim(), value.replace(/^(["'])(.*)\1$/, '$2')];
    });
  return Object.fromEntries(entries);
}
