import { describe, expect, it } from 'vitest';
import { actionForImage, CATALOG, requireAction } from '../../actions/catalog.ts';

describe('the catalog', () => {
  it.each([
    ['writefile', 'writefile'],
    ['quay.io/tinkerbell/actions/writefile:latest', 'writefile'],
    ['quay.io/tinkerbell-actions/cexec:v1.0.0', 'cexec'],
    ['localhost:5000/cexec', 'cexec'],
    ['registry:5000/a/b/cexec:1.21.1@sha256:0123', 'cexec'],
    ['public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest', 'reboot'],
  ])('%s selects %s', (image, name) => {
    expect(actionForImage(image)?.name).toBe(name);
  });

  it('an image it does not know has a code, and the error lists what there is', () => {
    expect(() => requireAction('example.com/imag2disk:1')).toThrowError(
      expect.objectContaining({ code: 'KND_ACTION_UNKNOWN', hint: 'Did you mean image2disk?' }),
    );
    expect(() => requireAction('example.com/frobnicate:1')).toThrowError(
      expect.objectContaining({
        code: 'KND_ACTION_UNKNOWN',
        evidence: expect.objectContaining({ known: expect.arrayContaining(['reboot']) }),
      }),
    );
  });

  it('no two actions share a name', () => {
    const names = CATALOG.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });
});
