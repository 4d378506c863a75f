import { expect, test } from 'vitest';
import { neighboursFor } from '../../../actions/image2disk/write-request.ts';

const URLS = ['http://10.0.0.7:7070', 'http://10.0.0.8:7070', 'http://[fd00::9]:7070'];

test('a node knows its own entry by its addresses, and listens there', () => {
  expect(neighboursFor(URLS, 30, ['127.0.0.1', '10.0.0.8'])).toEqual({
    urls: URLS,
    ownUrl: 'http://10.0.0.8:7070',
    listen: { host: '10.0.0.8', port: 7070 },
    lingerMs: 30_000,
  });
  expect(neighboursFor(URLS, 0, ['fd00::9'])?.listen.host).toBe('fd00::9');
});

test('a node that nobody lists takes no part, and an empty list is none', () => {
  expect(neighboursFor(URLS, 30, ['10.0.0.99'])).toBeUndefined();
  expect(neighboursFor([], 30, ['10.0.0.8'])).toBeUndefined();
});
