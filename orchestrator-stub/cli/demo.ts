import type { Command } from 'commander';

/** `kindling demo`: a virtual edge node from power-on to what this orchestrator knows of it, in front of your eyes. */
export function defineDemo(command: Command): void {
  command
    .option('--firmware <name>', 'firmware of the virtual node: ovmf or seabios', 'ovmf')
    .option('--memory <megabytes>', 'memory of the virtual node', '512')
    .option('--console', 'show the node’s console too')
    .option('--picture <file>', 'draw what was printed as an SVG picture')
    .option('--keep', 'leave the node and the orchestrator running at the end, until Ctrl-C')
    .action(async (options: Record<string, string | boolean>) => {
      const { runDemo } = await import('./demo/run-demo.ts');
      const { readDemoOptions } = await import('./demo/demo-options.ts');
      await runDemo(readDemoOptions(options));
    });
}
