import { expect, it } from 'vitest';
import { parseImageReference } from '../../../actions/registry/image-reference.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

it.each([
  ['alpine', 'registry-1.docker.io', 'library/alpine', 'latest'],
  ['tinkerbell/x:1', 'registry-1.docker.io', 'tinkerbell/x', '1'],
  ['docker.io/alpine:3', 'registry-1.docker.io', 'library/alpine', '3'],
  ['quay.io/a/b/c:v1.0.0', 'quay.io', 'a/b/c', 'v1.0.0'],
  ['localhost:7443/edge/x:1.21.1', 'localhost:7443', 'edge/x', '1.21.1'],
  [`reg.example:5000/a@${DIGEST}`, 'reg.example:5000', 'a', DIGEST],
  [`reg.example/a:1@${DIGEST}`, 'reg.example', 'a', DIGEST],
  ['localhost/a', 'localhost', 'a', 'latest'],
])('%s is %s %s %s', (text, registry, repository, reference) => {
  expect(parseImageReference(text)).toEqual({ registry, repository, reference });
});

it.each(['', 'a b', 'a:', 'reg.example/a@sha256:12', '../a'])('%j is refused', (text) => {
  expect(() => parseImageReference(text)).toThrowError(
    expect.objectContaining({ code: 'KND_IMAGE_REFERENCE' }),
  );
});
