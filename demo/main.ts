import { Command } from 'commander';
import { runProgram } from '../cli/run-program.ts';
import { defineDemo } from './command.ts';

const program = new Command('demo').description('Watch an empty virtual machine become a running edge node');
await runProgram(program, async () => defineDemo(program));
