import type { Journey } from './journey.ts';
import type { ReachedStage } from './stages.ts';

/** Shows what happens, to people or to programs. */
export interface DemoView extends Disposable {
  /** Something for people that is no stage. */
  say(text: string): void;
  begin(journeys: readonly Journey[]): void;
  reached(journey: Journey, stage: ReachedStage): void;
  notice(journey: Journey, code: string, message: string): void;
  consoleLine(journey: Journey, text: string): void;
  /** Every node runs. `url` is the orchestrator as this host reaches it. */
  done(journeys: readonly Journey[], url: string): void;
}
