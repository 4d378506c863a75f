import { describe, expect, it } from 'vitest';
import { rewriteLocalAddresses } from '../../../agent/local-front/upstream.ts';

const ports = { files: 4001, registry: 4002 };
const rewrite = (value: string) => rewriteLocalAddresses({ V: value }, ports)['V'];

describe('local addresses in variables', () => {
  it.each([
    ['http://127.0.0.1/tink-stack/a', 'http://127.0.0.1:4001/tink-stack/a'],
    ['http://localhost/files-edge-orch/repository/b', 'http://127.0.0.1:4001/files-edge-orch/repository/b'],
    ['http://127.0.0.1:80/tink-stack/a', 'http://127.0.0.1:4001/tink-stack/a'],
    ['localhost:7443/edge-orch/x:1', '127.0.0.1:4002/edge-orch/x:1'],
    ['http://localhost:7443/v2/', 'http://127.0.0.1:4002/v2/'],
  ])('%s becomes %s', (before, after) => {
    expect(rewrite(before)).toBe(after);
  });

  it.each([
    'https://files.example/tink-stack/a',
    'http://127.0.0.1/other/a',
    'http://127.0.0.10/tink-stack/a',
    '#cloud-config\nruncmd: [curl http://127.0.0.1/tink-stack/a]',
    'localhost:74430/x',
    '',
  ])('leaves “%s” alone', (value) => {
    expect(rewrite(value)).toBe(value);
  });
});
