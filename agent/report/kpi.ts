import type { Log } from './log.ts';

/**
 * EMF's boot figures, in the words its dashboards search for: "Reporting boot KPI <name> <seconds since 1970>", one line per
 * `s_*` stamp of the boot script, plus the moment the agent itself started.
 */
export function reportBootKpis(log: Log, stamps: Record<string, number>, startedAt: number): void {
  for (const [name, milliseconds] of Object.entries({ ...stamps, s_bootkit_start: startedAt })) {
    const seconds = Math.floor(milliseconds / 1000);
    log.info({ kpi: name, seconds }, `Reporting boot KPI ${name} ${seconds}`);
  }
}
