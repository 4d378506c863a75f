import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { Floor } from '../../floor/floor.ts';
import { ListParametersSchema, toListQuery } from '../../floor/list-query.ts';
import { FloorPageSchema, FloorSummarySchema } from './floor-schemas.ts';

export interface FloorRouteParts {
  floor: Floor;
}

export function floorRoutes({ floor }: FloorRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/floor',
      access: 'person',
      tag: 'floor',
      operationId: 'getFloor',
      summary: 'How many nodes are how, about how long they still take, and how long stages usually take',
      answer: FloorSummarySchema,
      handle: () => floor.summary(),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes',
      access: 'person',
      tag: 'floor',
      operationId: 'listNodes',
      summary: 'Nodes as rows, the discovered ones included: filtered, in order, page by page',
      query: ListParametersSchema,
      answer: FloorPageSchema,
      handle: ({ query }) => floor.list(toListQuery(query)),
    }),
  ];
}
