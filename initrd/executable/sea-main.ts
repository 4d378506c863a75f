import { createRequire } from 'node:module';
import { getAsset, getRawAsset } from 'node:sea';
import vm from 'node:vm';

// The first script inside the executable: starts the agent's bundle, which was parsed and compiled at build time
// (code-cache.ts); functions are compiled when they are first called, as always.

const script = new vm.Script(getAsset('agent.cjs', 'latin1'), {
  filename: 'kindling-agent.js',
  cachedData: Buffer.from(getRawAsset('agent.cache')),
});
const start = script.runInThisContext() as (require: NodeJS.Require, module: object, exports: object) => void;
const module = { exports: {} };
start(createRequire(process.execPath), module, module.exports);
