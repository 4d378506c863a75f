import { describe, expect, it } from 'vitest';
import { authorityOf, parseEndpoint } from '../../../agent/connection/endpoint.ts';

describe('the name of a server', () => {
  it.each([
    ['keycloak.site:443', 'keycloak.site:443', 'verified'],
    ['host', 'host:443', 'verified'],
    ['[fd00::1]:42113', '[fd00::1]:42113', 'verified'],
    ['http://host:8080/path', 'host:8080', 'off'],
    ['https://host', 'host:443', 'verified'],
  ])('%s is %s, TLS %s', (name, authority, tls) => {
    const endpoint = parseEndpoint(name, 'verified');
    expect(authorityOf(endpoint)).toBe(authority);
    expect(endpoint.tls).toBe(tls);
  });

  it.each(['', 'a b:c', 'host:99999'])('refuses "%s"', (name) => {
    expect(() => parseEndpoint(name, 'verified')).toThrowError(
      expect.objectContaining({ code: 'KND_CONFIG_INVALID' }),
    );
  });
});
