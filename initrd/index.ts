export { ensureAgent } from './executable/agent-executable.ts';
export type { Profile } from './micro-os/contents.ts';
export { ensureMicroOs, type MicroOs } from './micro-os/micro-os.ts';
