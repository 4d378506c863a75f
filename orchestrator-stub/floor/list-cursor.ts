import { z } from 'zod';
import { KindlingError } from '../../protocol/error.ts';

/** Where a page ended: the sort key of its last row, and the row's id. */
interface Position {
  key: string;
  id: string;
}

const PositionSchema = z.tuple([z.string(), z.string()]);

export function encodeCursor({ key, id }: Position): string {
  return Buffer.from(JSON.stringify([key, id])).toString('base64url');
}

export function decodeCursor(cursor: string): Position {
  try {
    const [key, id] = PositionSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    return { key, id };
  } catch (cause) {
    throw new KindlingError('KND_API_INVALID', 'query.cursor: not one that this server gave', { cause });
  }
}
