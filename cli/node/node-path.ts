/** Where the API has a node, by id, name, UUID, serial or MAC. */
export function nodePath(node: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}`;
}
