declare const brand: unique symbol;

/** A text that is not to be mixed up with another kind of text. */
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The key of the orchestrator's record of a node, `host-1a2b3c4d`. Fields and paths of the API that say `nodeId` hold it. */
export type HostId = Branded<'HostId'>;
/** What the agent computes from the node's identity, whatever server it talks to. */
export type NodeId = Branded<'NodeId'>;

/** At the edges only: where the text comes from a server, a database or a caller. */
export function toHostId(text: string): HostId {
  return text as HostId;
}

/** Where an identity is made or read. */
export function toNodeId(text: string): NodeId {
  return text as NodeId;
}
