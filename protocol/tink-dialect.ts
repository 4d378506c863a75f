import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** The two languages that share the name `proto.WorkflowService`. */
export type TinkDialect = 'tink-legacy' | 'tink-current';

/**
 * Sent before the contexts by a legacy server that keeps the text of a repeated RUNNING and the action's first start time. No
 * tink-server sends it, so no tink-server gets progress that it would misread.
 */
export const STORES_PROGRESS_HEADER = 'kindling-stores-progress';

/**
 * Tells which dialect a ReportActionStatus request is written in, by its wire types alone: legacy has a varint state in
 * field 4 and a text in 6, current a text in 4 and a varint state in 6. Undefined for anything that fits neither.
 */
export function dialectOfReport(request: Uint8Array): TinkDialect | undefined {
  const reader = new BinaryReader(request);
  try {
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      const isVarint = wireType === WireType.Varint;
      const isText = wireType === WireType.LengthDelimited;
      if ((field === 4 && isVarint) || (field === 6 && isText)) return 'tink-legacy';
      if ((field === 4 && isText) || (field === 6 && isVarint)) return 'tink-current';
      // Legacy drops a PENDING state (0) and an empty message; only 5 (a varint there) then still tells.
      if (field === 5) return isVarint ? 'tink-legacy' : isText ? 'tink-current' : undefined;
      reader.skip(wireType, field);
    }
  } catch {
    return undefined; // not protobuf
  }
  return undefined;
}
