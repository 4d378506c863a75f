import { describe, expect, it } from 'vitest';
import { parseVariables } from '../../../actions/contract/parameters.ts';

const parameters = {
  IMG_URL: { type: 'url', required: true, description: 'the image' },
  CONTENTS: { type: 'text', required: true, description: 'what to write' },
  RETRY_ENABLED: { type: 'boolean', default: true, description: 'try again' },
  MODE: { type: 'octal', default: 0o644, description: 'mode' },
  MINUTES: { type: 'integer', default: 10, min: 1, max: 60, description: 'how long' },
  CHROOT: { type: 'flag', description: 'enter it' },
  KIND: { type: 'choice', choices: ['a', 'b'], description: 'kind' },
  PASSWORD: { type: 'text', pattern: /^x/, secret: true, description: 'secret' },
} as const;

const good = { IMG_URL: 'http://x/y', CONTENTS: 'c' };
const parse = (variables: Record<string, string>) => parseVariables('test', parameters, variables);

describe('variables of an action', () => {
  it('are turned into typed values, with defaults', () => {
    expect(parse({ ...good, MODE: '0755', CHROOT: 'y' }).values).toEqual({
      IMG_URL: 'http://x/y',
      CONTENTS: 'c',
      RETRY_ENABLED: true,
      MODE: 0o755,
      MINUTES: 10,
      CHROOT: true,
      KIND: undefined,
      PASSWORD: undefined,
    });
  });

  it('that are empty count as not set, except contents, which may be empty', () => {
    const { values } = parse({ ...good, CONTENTS: '', KIND: '', RETRY_ENABLED: '' });
    expect(values).toMatchObject({ CONTENTS: '', KIND: undefined, RETRY_ENABLED: true });
    expect(() => parse({ ...good, IMG_URL: '' })).toThrow(/IMG_URL is required/);
  });

  it.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('read %s as true, as Go does', (text) => {
    expect(parse({ ...good, RETRY_ENABLED: text }).values['RETRY_ENABLED']).toBe(true);
  });

  it('that are wrong are all named in one error, secrets not shown', () => {
    expect(() =>
      parse({
        IMG_URL: 'no url',
        MODE: '9',
        MINUTES: '61',
        KIND: 'c',
        PASSWORD: 'hunter2',
        RETRY_ENABLED: 'yes',
      }),
    ).toThrowError(
      expect.objectContaining({
        code: 'KND_ACTION_VARIABLES',
        message: expect.stringMatching(
          /IMG_URL="no url".*CONTENTS is required.*RETRY_ENABLED="yes".*MODE="9".*MINUTES="61".*KIND="c".*PASSWORD=\(secret\)/s,
        ),
      }),
    );
  });

  it.each(['ftp://host/x', 'file:///etc/shadow', '/dev/sda', 'http://'])('take %s for no URL', (text) => {
    expect(() => parse({ ...good, IMG_URL: text })).toThrow(/is not an http or https URL/);
  });

  it('never show a login that an address holds', () => {
    const thrown = () => parse({ ...good, IMG_URL: 'http://me:hunter2@host:port/x' });
    expect(thrown).toThrow(/IMG_URL="http:\/\/…@host:port/);
    expect(thrown).not.toThrow(/hunter2/);
  });

  it.each([
    ['0644', 0o644],
    ['644', 0o644],
    ['0o7777', 0o7777],
    ['07777', 0o7777],
    ['0', 0],
  ])('read the mode %s as Go does', (text, mode) => {
    expect(parse({ ...good, MODE: text }).values['MODE']).toBe(mode);
  });

  it.each(['10000', '77777', '8', '-1', '0x1ff', 'rw-r--r--'])('take %s for no mode', (text) => {
    expect(() => parse({ ...good, MODE: text })).toThrow(/is not an octal mode/);
  });

  it.each(['1.5', '1e3', '0x10', '', ' '].filter(Boolean))('take %j for no whole number', (text) => {
    expect(() => parse({ ...good, MINUTES: text })).toThrow(/is not a whole number/);
  });

  it('that are misspelled are reported with the name that was meant', () => {
    expect(parse({ ...good, IMAGE_URL: 'http://x', IMG_URl: 'x', SOMETHING: '1' }).unknown).toEqual([
      { name: 'IMAGE_URL', suggestion: 'IMG_URL' },
      { name: 'IMG_URl', suggestion: 'IMG_URL' },
      { name: 'SOMETHING' },
    ]);
  });

  it('that are misspelled are named beside the one that is missing for it', () => {
    expect(() => parse({ CONTENTS: 'c', IMG_URLL: 'http://x/y' })).toThrow(
      /IMG_URL is required .*; IMG_URLL is not known; did you mean IMG_URL\?/,
    );
  });
});
