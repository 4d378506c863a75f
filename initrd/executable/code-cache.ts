import { readFileSync, writeFileSync } from 'node:fs';
import vm from 'node:vm';

// Compiles a script ahead of its start. Two runs of Node, so that equal scripts give equal bytes:
//   node --hash-seed=1 code-cache.cjs make <script> <cache>   the order of what is in it depends on the seed of V8's hashes
//   node code-cache.cjs adopt <script> <cache>                makes it valid for a Node without that option
// A cache is used only where V8's options are those it was made with; a hash of them is part of it.

const OPTIONS_HASH = { offset: 12, size: 4 }; // V8 src/snapshot/code-serializer.h, SerializedCodeData
const filename = 'kindling.js'; // as in sea-main.ts

function make(script: string, cache: string): void {
  writeFileSync(cache, new vm.Script(readFileSync(script, 'latin1'), { filename }).createCachedData());
}

function adopt(script: string, cache: string): void {
  const ours = new vm.Script('', { filename }).createCachedData();
  const made = readFileSync(cache);
  ours.copy(made, OPTIONS_HASH.offset, OPTIONS_HASH.offset, OPTIONS_HASH.offset + OPTIONS_HASH.size);
  const compiled = new vm.Script(readFileSync(script, 'latin1'), { filename, cachedData: made });
  if (compiled.cachedDataRejected) throw new Error('V8 does not accept the compiled script');
  writeFileSync(cache, made);
}

const [task, script = '', cache = ''] = process.argv.slice(2);
if (task === 'make') make(script, cache);
else adopt(script, cache);
