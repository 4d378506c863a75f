import { createHash } from 'node:crypto';
import { RunningStub } from '../../orchestrator-stub/running-stub.ts';

// Starts an orchestrator in an empty state folder, changes something, and starts it again; prints what was acknowledged.

const [stateFolder = ''] = process.argv.slice(2);
const running = await RunningStub.start({ stateFolder });
const trust = () =>
  `trust ${createHash('sha256').update(running.stub.ca).digest('hex')} ${running.stub.token}`;
const change = async (name: string) => {
  const { status } = await running.api('PUT', `/api/v1/profiles/${name}`, {
    json: { imageUrl: `http://example.org/${name}` },
  });
  if (status !== 200) throw new Error(`${name} was answered with ${status}`);
  console.log(`profile ${name}`);
};
console.log(trust());
for (const name of ['a', 'b', 'c']) await change(name);
await running.restart();
console.log(trust());
await change('d');
await running[Symbol.asyncDispose]();
