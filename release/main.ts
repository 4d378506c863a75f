import { Command } from 'commander';
import { runProgram } from '../cli/run-program.ts';
import { makeRelease } from './make-release.ts';

const program = new Command('release')
  .description('Makes everything that is published of one version, in one folder')
  .option('-o, --output <folder>', 'where it goes; what is there is replaced', 'dist')
  .option('--key <file>', 'Ed25519 private key that signs SHA256SUMS (default: not signed)')
  .action(async ({ output, key }: { output: string; key?: string }) => {
    for (const line of await makeRelease({ folder: output, keyFile: key })) console.log(line);
  });
await runProgram(program, async () => {});
