// An agent in a process of its own, for what a process has only one of: its way to resolve names.
// argv[2]: the test agent's set-up as JSON. One JSON line on stdout per status with an error, and one at the end.
import { removeFolder, startTestAgent, type TestAgentOptions } from './test-agent.ts';

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const agent = startTestAgent({
  ...(JSON.parse(process.argv[2] ?? '{}') as TestAgentOptions),
  options: { onStatus: ({ error }) => error && say({ code: error.code }) },
});
await agent.ended;
removeFolder(agent);
say({ executed: agent.executed });
