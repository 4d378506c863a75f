import { describe, expect, it } from 'vitest';
import { proxiesOfEnvironment, proxyFor } from '../../net/proxy.ts';

const proxies = { httpProxy: 'http://plain:1', httpsProxy: 'http://secure:2' };
const chosen = (url: string, noProxy = '') => proxyFor(new URL(url), { ...proxies, noProxy })?.host;

describe('the proxy for a server', () => {
  it('is https_proxy with TLS and http_proxy without', () => {
    expect(chosen('https://a.example')).toBe('secure:2');
    expect(chosen('http://a.example')).toBe('plain:1');
  });

  it('is none for loopback, whatever the settings', () => {
    expect(chosen('https://127.0.0.1:42113')).toBeUndefined();
    expect(chosen('https://localhost:7443')).toBeUndefined();
  });

  it('trap 12: is none when the variable is an empty string', () => {
    expect(proxyFor(new URL('https://a.example'), { httpsProxy: '', httpProxy: 'http://p' })).toBeUndefined();
  });

  it.each([
    ['p.example:911', 'http:'],
    ['http://p.example:911', 'http:'],
    ['https://p.example:911', 'https:'],
  ])('may be written as %s', (httpsProxy, protocol) => {
    expect(proxyFor(new URL('https://a.example'), { httpsProxy })).toMatchObject({
      host: 'p.example:911',
      protocol,
    });
  });

  it.each(['socks5://user:secret@proxy:1080', 'http://:::'])(
    'that is no web address is told: %s',
    (httpProxy) => {
      expect(() => proxyFor(new URL('http://a.example'), { httpProxy })).toThrow(
        expect.objectContaining({ code: 'KND_USAGE', message: expect.not.stringContaining('secret') }),
      );
    },
  );

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
    ['[fd00::5]', '[fd00::5]:443', true],
    ['a.example', '10.0.0.0/8', false],
    ['a.example:443', 'a.example:443', true],
    ['a.example:443', 'a.example:8443', false],
    ['a.example', '*', true],
    ['a.example', 'x.example, a.example', true],
    ['10.1.2.3', '10.0.0.0/99', false],
    ['10.1.2.3', '10.0.0.0/x', false],
  ])('%s with no_proxy=%s: direct is %s', (host, noProxy, isDirect) => {
    expect(chosen(`https://${host}/`, noProxy) === undefined).toBe(isDirect);
  });

  it('is read from the variables that the agent gives its actions', () => {
    expect(
      proxiesOfEnvironment({ http_proxy: 'http://p:1', https_proxy: 'http://p:2', no_proxy: '.local' }),
    ).toEqual({ httpProxy: 'http://p:1', httpsProxy: 'http://p:2', noProxy: '.local' });
  });
});
