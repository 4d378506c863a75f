import { z } from 'zod';
import {
  FLOOR_GROUPS,
  FLOOR_SORTS,
  type FloorSort,
  NODE_STATUSES,
  type NodeStatus,
} from '../../protocol/floor.ts';

const STATUSES = Object.keys(NODE_STATUSES) as [NodeStatus, ...NodeStatus[]];
const DESCENDING = FLOOR_SORTS.map((sort) => `-${sort}` as const);

/** Several of a list, separated by commas. */
function listOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',') : value),
    z.array(z.enum(values)).min(1),
  );
}

const word = z.string().min(1).max(200);

/** The parameters of GET /api/v1/nodes. */
export const ListParametersSchema = z.strictObject({
  status: listOf(STATUSES).optional().describe('Several are separated by commas'),
  group: listOf(FLOOR_GROUPS).optional().describe('Several are separated by commas'),
  profile: word.optional(),
  site: word.optional(),
  q: word.optional().describe('A part of the name, serial number, MAC, UUID, place, site or id'),
  sort: z
    .enum([...FLOOR_SORTS, ...DESCENDING])
    .default('floor')
    .describe('`floor` is trouble first; a dash in front turns the order around'),
  cursor: z.string().max(2000).optional().describe('From the page before'),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

type ListParameters = z.output<typeof ListParametersSchema>;

/** Which nodes, in which order, how many. */
export interface ListQuery extends Omit<ListParameters, 'sort'> {
  sort: FloorSort;
  isDescending: boolean;
}

export function toListQuery({ sort, ...rest }: ListParameters): ListQuery {
  return { ...rest, sort: sort.replace('-', '') as FloorSort, isDescending: sort.startsWith('-') };
}
