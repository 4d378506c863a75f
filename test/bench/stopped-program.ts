// A benchmark in the middle of a measurement, to be stopped by a signal. argv[2]: a folder with the images in place.
import { exitOnSignals } from '../../bench/clean-up.ts';
import { measure } from '../../bench/image-write/measure.ts';
import { openWorkspace } from '../../bench/image-write/workspace.ts';

exitOnSignals();
const sizes = { big: 1, unit: 1, small: 1 };
const workspace = await openWorkspace({ sizes, keepIn: process.argv[2] });
const target = workspace.freshTarget(1024 * 1024);
const measured = measure(`exec 3<${target}; sleep 4747`);
process.stdout.write(`${JSON.stringify({ target, url: workspace.url })}\n`);
await measured;
