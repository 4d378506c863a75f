/** What a server knows of the key that a machine shows, and of the one the node was let in with. */
export interface KeyQuestion {
  /** Code of the key that the node was let in with. */
  pinned: string | undefined;
  /** Code of the key that is shown now. */
  shown: string | undefined;
  /** Whether the machine that holds the pinned key is there: a call with the node's token came in a moment ago. */
  isHeard: boolean;
  /** Whether the site lets a node in with one key only. */
  isOneKeyOnly: boolean;
}

/**
 * Whether a machine that says UUID and serial of a node is the one that was let in. Both are printed on the case and told to the
 * whole network, so they prove nothing; the first machine that shows a key for them is the node.
 * - first: nobody was let in with a key yet
 * - same: the machine that was let in
 * - changed: another key, but the holder of the first is silent: the machine was rebooted, or is replaced by another
 * - refused: another machine, while the first is there; or one that pretends to have no key
 */
export function judgeNodeKey(question: KeyQuestion): 'first' | 'same' | 'changed' | 'refused' {
  const { pinned, shown, isHeard, isOneKeyOnly } = question;
  if (pinned === undefined) return 'first';
  if (shown === pinned) return 'same';
  return shown === undefined || isHeard || isOneKeyOnly ? 'refused' : 'changed';
}
