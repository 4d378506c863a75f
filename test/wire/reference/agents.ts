import { waitFor } from '../../../system/wait.ts';
import { removeFolder, startTestAgent, type TestAgent, type TestAgentOptions } from './test-agent.ts';

/** The agents of one test; `end` stops them and removes what they left. */
export class Agents {
  #running: TestAgent[] = [];

  start(setup: TestAgentOptions): TestAgent {
    const agent = startTestAgent(setup);
    this.#running.push(agent);
    return agent;
  }

  async end(): Promise<void> {
    for (const agent of this.#running.splice(0)) {
      await agent.stop();
      removeFolder(agent);
    }
  }
}

export const until = (probe: () => boolean, name: string) =>
  waitFor(() => probe() || undefined, { name, timeoutMs: 30_000, intervalMs: 5 });
