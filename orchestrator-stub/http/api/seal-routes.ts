import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { SiteSeal } from '../../secrets/site-seal.ts';

export interface SealRouteParts {
  siteSeal: SiteSeal;
}

/** The key that secrets in the database are sealed with. */
export function sealRoutes({ siteSeal }: SealRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/site/rotate-key',
      access: 'person',
      tag: 'site',
      operationId: 'rotateStateKey',
      summary: 'Seal every secret of the database with a new key',
      answer: z.object({
        keyId: z.string().describe('The start of the hash of the key in use'),
        isNew: z.boolean().describe('False: the key file that was given begins with the same key as before'),
        sealed: z.number().describe('How many values were sealed anew'),
      }),
      handle: () => siteSeal.rotate(),
    }),
  ];
}
