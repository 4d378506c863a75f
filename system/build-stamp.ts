/** Put in place by the bundler (initrd/executable/bundle.ts); does not exist when a program runs from its sources. */
declare const KINDLING_BUILD: BuildStamp;

export interface BuildStamp {
  version: string;
  commit: string;
  /** Of that commit, in seconds since 1970: no clock can rightly be earlier. */
  time: number;
}

/** What a one-file executable was built from; undefined in a program that runs from its sources. */
export const buildStamp: BuildStamp | undefined =
  typeof KINDLING_BUILD === 'undefined' ? undefined : KINDLING_BUILD;
