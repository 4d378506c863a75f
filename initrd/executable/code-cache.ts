import { readFileSync, writeFileSync } from 'node:fs';
import v8 from 'node:v8';
import vm from 'node:vm';

// node code-cache.ts <script> <cache>: compiles every function of the script, without running it, and saves the result.
// Compiling everything at once gives the same bytes each time; a cache taken after a run would not.

const [script = '', cache = ''] = process.argv.slice(2);
v8.setFlagsFromString('--no-lazy');
const compiled = new vm.Script(readFileSync(script, 'latin1'), { filename: 'kindling-agent.js' });
v8.setFlagsFromString('--lazy'); // the cache records V8's flags and is used only where they are the same
writeFileSync(cache, compiled.createCachedData());
