import { waitFor } from '../../../system/wait.ts';
import type { NetworkContext } from './network-context.ts';
import type { NetworkPlan } from './network-plan.ts';
import { bondOperations, perform, vlanOperations } from './operations.ts';

/** Names, bonds and VLANs of the kernel command line. What is there already stays: the agent may have been restarted. */
export async function prepareInterfaces(plan: NetworkPlan, context: NetworkContext): Promise<void> {
  const { files, run, view, timeouts, signal } = context;
  const loadModule = async (...args: string[]) => {
    await run('modprobe', args, { okExitCodes: [0, 1] });
  };
  for (const { mac, name } of plan.renames) {
    const nic = context.listNics().find((card) => card.mac === mac || card.permanentMac === mac);
    if (!nic || nic.name === name) continue;
    await perform(
      [{ ip: ['link', 'set', nic.name, 'down'] }, { ip: ['link', 'set', nic.name, 'name', name] }],
      run,
    );
  }
  if (plan.bonds.length > 0) await loadModule('bonding', 'max_bonds=0');
  for (const bond of plan.bonds) {
    const isThere = (member: string) => files.number(`/sys/class/net/${member}/ifindex`) !== undefined;
    await waitFor(() => bond.members.every(isThere) || undefined, {
      name: `the appearance of ${bond.members.join(' and ')} for ${bond.name}`,
      timeoutMs: timeouts.nicMs,
      code: 'KND_NET_SETUP',
      signal,
    });
    if (!isThere(bond.name)) await perform(bondOperations(bond), run);
    view.line('network', `${bond.name}: bond of ${bond.members.join(', ')}`);
  }
  const needsVlan = plan.vlans.length > 0 || plan.interfaces.some(({ vlanId }) => vlanId !== undefined);
  if (needsVlan) await loadModule('8021q');
  for (const vlan of plan.vlans) await perform(vlanOperations(vlan), run);
}
