import { z } from 'zod';
import { listFiles } from '../../../net/server/list-files.ts';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';

export interface FileRouteParts {
  /** Folders below /tink-stack/. */
  artifacts: string[];
  /** Folders below /files-edge-orch/. */
  files: string[];
}

/** More than a mirror of every image has. */
const MOST_FILES = 2000;

const FilesSchema = z
  .array(z.object({ path: z.string(), bytes: z.number(), modifiedAt: z.string() }))
  .describe(`No more than ${MOST_FILES}`);

/** What this server hands to machines besides answers. */
export function fileRoutes({ artifacts, files }: FileRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/files',
      access: 'person',
      tag: 'site',
      operationId: 'listFiles',
      summary: 'Boot files and mirrored files that this server has for machines',
      answer: z.object({
        boot: FilesSchema.describe('Below /tink-stack/'),
        mirrored: FilesSchema.describe('Below /files-edge-orch/'),
      }),
      handle: async () => ({
        boot: await listFiles(artifacts, MOST_FILES),
        mirrored: await listFiles(files, MOST_FILES),
      }),
    }),
  ];
}
