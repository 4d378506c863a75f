import type { Command } from 'commander';

/** `npm run demo`: an empty virtual machine becomes a running edge node in front of your eyes. */
export function defineDemo(command: Command): void {
  command
    .option('--nodes <number>', 'how many virtual nodes, at the same time (1; with --floor 200)')
    .option('--immutable', 'an immutable system with dm-verity instead of a mutable Debian')
    .option('--secure-boot', 'firmware that starts only what the site or the maker of the system signed')
    .option('--https-boot', 'firmware that boots by HTTPS instead of PXE, with the site’s own CA')
    .option('--bios', 'nodes with a BIOS instead of UEFI firmware')
    .option('--memory <megabytes>', 'memory of each virtual node', '1024')
    .option('--keep', 'leave nodes and orchestrator running at the end, until Ctrl-C')
    .option('--json', 'print every event as one JSON object per line')
    .option('--console', 'show the consoles of the nodes too')
    .option('--floor', 'the page with a floor of simulated machines, and no virtual one')
    .option('--picture <file>', 'draw what was printed as an SVG picture; with --floor: the page, as PNG')
    .action(async (options: Record<string, string | boolean>) => {
      if (options['floor'] === true) {
        const { readFloorOptions, runFloorDemo } = await import('./floor.ts');
        return runFloorDemo(readFloorOptions(options));
      }
      const { readDemoOptions } = await import('./demo-options.ts');
      const checked = readDemoOptions(options);
      const { runDemo } = await import('./run-demo.ts');
      await runDemo(checked);
    });
}
