import { describe, expect, it } from 'vitest';
import { repositoryOf, thisRepository } from '../repository.ts';
import { britishWords } from './british-words.ts';

/** The list itself, and what tries it out. */
const LISTS = /^test\/docs\/(british-words|spelling\.test)\.ts$/;
/** Written by others and kept as they wrote it. */
const OF_OTHERS = /^(LICENSE|package-lock\.json)$|(^|\/)(fixtures|generated|google)\//;

it('code and docs are in US English, but for what goes over the wire or is stored', () => {
  const repository = thisRepository();
  const files = repository.files.filter((file) => !LISTS.test(file) && !OF_OTHERS.test(file));
  expect(britishWords(repository, files)).toEqual([]);
});

describe('the test of spelling', () => {
  const found = (text: string, file = 'code.ts') => britishWords(repositoryOf({ [file]: text }), [file]);

  it.each([
    ['const normaliseMac = 1;', 'code.ts:1 normalise (-ize)'],
    ['\n// an artefact', 'code.ts:2 artefact (artifact)'],
    ['enrolKeys()', 'code.ts:1 enrol (enroll)'],
    ['the behaviour', 'code.ts:1 behaviour (-or)'],
    ['it was cancelled', 'code.ts:1 cancelled (one l)'],
    ['a neighbour; { neighbours: 1 }', 'code.ts:1 neighbour (-or)'],
    ['the filesystem is full', 'code.ts:1 filesystem (file system)'],
    ['"no filesystem"', 'code.ts:1 filesystem (file system)'],
    ['a misspelt key', 'code.ts:1 misspelt (-ed)'],
  ])('finds %j', (text, message) => {
    expect(found(text)).toEqual([message]);
  });

  it('finds it in the name of a file', () => {
    expect(found('', 'site/enrolment.ts')).toEqual(['site/enrolment.ts enrol (enroll)']);
  });

  it.each([
    'normalize, artifact, enrollment, behavior, canceled, a file system, misspelled',
    "state === 'CANCELLED' || code === 'KND_ACTION_CANCELLED' || status === 'cancelled'",
    "path: '/api/v1/nodes/{id}/deauthorise'",
    'storage.filesystems.map(f); const { filesystems } = storage;',
    'a promise, otherwise noise; the premise of exercise; an optimist; minimal; a called caller; selling; telling',
  ])('lets %j pass', (text) => {
    expect(found(text)).toEqual([]);
  });
});
