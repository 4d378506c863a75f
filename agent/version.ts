import { type BuildStamp, buildStamp } from '../system/build-stamp.ts';

/** What `kindling-agent --version` tells. */
export const agentBuild: BuildStamp = buildStamp ?? { version: 'from sources', commit: 'none', time: 0 };
