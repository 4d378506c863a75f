import { expect, test } from 'vitest';
import { withBasicClient } from '../../../orchestrator-stub/credentials/client-authentication.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const FORM = 'grant_type=client_credentials';

test.each([
  ['id and secret', FORM, basic('edge:s3cret'), `${FORM}&client_id=edge&client_secret=s3cret`],
  ['form-encoded', FORM, basic('a%3Ab:p%26w+x'), `${FORM}&client_id=a%3Ab&client_secret=p%26w+x`],
  ['a colon in the secret', FORM, basic('a:b:c'), `${FORM}&client_id=a&client_secret=b%3Ac`],
  ['no header', `${FORM}&client_id=x`, undefined, `${FORM}&client_id=x`],
  ['the form names a client', `${FORM}&client_id=x`, basic('a:b'), `${FORM}&client_id=x`],
  ['another scheme', FORM, 'Bearer abc', FORM],
  ['no colon', FORM, basic('abc'), FORM],
  ['nothing more comes in', FORM, basic('a:b&grant_type=password'), `${FORM}&client_id=a&client_secret=b`],
])('%s', (_case, form, header, expected) => {
  expect(withBasicClient(new URLSearchParams(form), header).toString()).toBe(expected);
});
