/** Put in place by the bundler (initrd/executable/bundle.ts); does not exist when the agent runs from its sources. */
declare const KINDLING_BUILD: { version: string; commit: string; time: number };

/** Version, commit, and the time of that commit in seconds since 1970: no clock can rightly be earlier. */
export const agentBuild =
  typeof KINDLING_BUILD === 'undefined'
    ? { version: 'from sources', commit: 'none', time: 0 }
    : KINDLING_BUILD;
