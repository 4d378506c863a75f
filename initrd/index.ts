export { packDropin } from './dropin.ts';
export { ensureAgent } from './executable/agent-executable.ts';
export { PROFILES, type Profile } from './micro-os/contents.ts';
export { explainMicroOs } from './micro-os/explain.ts';
export { ROOT_ARGUMENTS } from './micro-os/kernel-arguments.ts';
export { type Compression, ensureMicroOs, type MicroOs } from './micro-os/micro-os.ts';
