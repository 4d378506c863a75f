#!/usr/bin/env node
import { Command } from 'commander';
import { defineKindling } from './program.ts';
import { runProgram } from './run-program.ts';

/** `kindling`: everything an operator does. Only the command that is asked for is loaded; of the others the help has the names. */
const program = new Command('kindling');
const asked = process.argv[2] === 'help' ? process.argv[3] : process.argv[2];
// No await out here: inside the one-file executable this is a CommonJS script.
void runProgram(program, () => defineKindling(program, (name) => name === asked));
