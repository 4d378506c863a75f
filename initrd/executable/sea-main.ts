import { createRequire } from 'node:module';
import { getAsset, getRawAsset } from 'node:sea';
import vm from 'node:vm';

// The first script inside the executable: starts the program's bundle, which was parsed and compiled at build time
// (code-cache.ts); functions are compiled when they are first called, as always.

const script = new vm.Script(getAsset('main.cjs', 'latin1'), {
  filename: 'kindling.js',
  cachedData: Buffer.from(getRawAsset('main.cache')),
});
const start = script.runInThisContext() as (require: NodeJS.Require, module: object, exports: object) => void;
const module = { exports: {} };
start(createRequire(process.execPath), module, module.exports);
