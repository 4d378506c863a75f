import type { Writer } from './bundle-writer.ts';
import { isEqual, measure } from './measure.ts';
import { buildUplinkNetwork } from './uplink-network.ts';
import type { Workspace } from './workspace.ts';

const LINK_MBIT = 1000;

export interface LinkResult {
  megabits: number;
  /** Seconds that the download alone takes. */
  download: number;
  write: number;
  isEqual: boolean;
}

/** A chunked image over the network card most machines have: there the network is the ceiling, and its cost is not ours. */
export async function measureLink(
  { folder, sizes, freshTarget }: Workspace,
  ours: Writer,
  say: (text: string) => void,
): Promise<LinkResult> {
  say(`chunked over ${LINK_MBIT} Mbit/s`);
  await using network = await buildUplinkNetwork(folder, 1, LINK_MBIT);
  const onNode = (command: string) => `${network.inNode(0).join(' ')} ${command}`;
  const blob = `${network.originUrl}/chunked.zst`;
  const download = await measure(onNode(`curl -sf ${blob} -o /dev/null`));
  const target = freshTarget(sizes.big);
  const write = await measure(onNode(ours({ sources: [blob], target })));
  return {
    megabits: LINK_MBIT,
    download: download.wallSeconds,
    write: write.wallSeconds,
    isEqual: isEqual(`${folder}/disk.raw`, target, sizes.big),
  };
}
