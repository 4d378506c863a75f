import { pause } from '../../system/wait.ts';
import { ATTACKS, type Attacker, makeAttacker } from './attacks.ts';
import { ADDRESSES, type AttackFigures, type AttackOrder } from './messages.ts';

// 200 addresses that attack at once, or the same work for the processor without a word to the server.
const order = JSON.parse(process.argv[2] ?? '') as AttackOrder;
const counts: Record<string, number> = {};
const TURN_MS = 250;

process.on('disconnect', () => process.exit());
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ kind: 'attack', cpuSeconds: (user + system) / 1e6, counts } satisfies AttackFigures);
});

if (order.burn === undefined) {
  const attackers = await Promise.all(ADDRESSES.map((address, index) => makeAttacker(address, index, order)));
  for (const attacker of attackers) void attack(attacker);
} else {
  await burn(order.burn);
}

/** One attack after the other, each address beginning with another one. */
async function attack(attacker: Attacker): Promise<never> {
  const kinds = Object.entries(ATTACKS);
  for (let turn = attacker.index; ; turn += 1) {
    const [name, begin] = kinds[turn % kinds.length] ?? ['', async () => {}];
    counts[name] = (counts[name] ?? 0) + 1;
    await begin(attacker);
    await pause(TURN_MS);
  }
}

async function burn(share: number): Promise<never> {
  const SLICE_MS = 10;
  for (const startedAt = performance.now(); ; ) {
    const { user, system } = process.cpuUsage();
    const due = ((performance.now() - startedAt) / 1000) * share;
    const end = performance.now() + SLICE_MS;
    if ((user + system) / 1e6 < due) while (performance.now() < end);
    else await pause(SLICE_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
