import { describe, expect, it } from 'vitest';
import { authorityOf, parseEndpoint } from '../../../agent/connection/endpoint.ts';
import { proxyFor } from '../../../agent/connection/proxy.ts';

const proxies = { httpProxy: 'http://plain:1', httpsProxy: 'http://secure:2' };

function chosen(target: string, noProxy = '', tls: 'verified' | 'off' = 'verified') {
  return proxyFor(parseEndpoint(target, tls), { ...proxies, noProxy })?.host;
}

describe('the proxy for a server', () => {
  it('is https_proxy with TLS and http_proxy without', () => {
    expect(chosen('a.example:443')).toBe('secure:2');
    expect(chosen('a.example:80', '', 'off')).toBe('plain:1');
  });

  it('is none for loopback, whatever the settings', () => {
    expect(chosen('127.0.0.1:42113')).toBeUndefined();
    expect(chosen('localhost:7443')).toBeUndefined();
  });

  it('trap 12: is none when the variable is an empty string', () => {
    expect(
      proxyFor(parseEndpoint('a.example', 'verified'), { httpsProxy: '', httpProxy: 'http://p' }),
    ).toBeUndefined();
  });

  it('accepts a proxy without a scheme', () => {
    expect(proxyFor(parseEndpoint('a.example', 'verified'), { httpsProxy: 'p.example:911' })?.host).toBe(
      'p.example:911',
    );
  });

  it.each([
    ['a.example', 'a.example', true],
    ['b.a.example', 'a.example', true],
    ['b.a.example', '.a.example', true],
    ['b.a.example', '*.a.example', true],
    ['nota.example', 'a.example', false],
    ['A.Example', 'a.EXAMPLE', true],
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['110.1.2.3', '10.1.2.3', false],
    ['[fd00::5]:443', 'fd00::/8', true],
    ['[fe80::5]:443', 'fd00::/8', false],
    ['a.example', '10.0.0.0/8', false],
    ['a.example:443', 'a.example:443', true],
    ['a.example:443', 'a.example:8443', false],
    ['a.example', '*', true],
    ['a.example', 'x.example, a.example', true],
    ['10.1.2.3', '10.0.0.0/99', false],
  ])('%s with no_proxy=%s: direct is %s', (host, noProxy, isDirect) => {
    expect(chosen(host, noProxy) === undefined).toBe(isDirect);
  });
});

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
