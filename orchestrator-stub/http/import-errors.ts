import type { RawRoute } from '../../net/server/route.ts';
import type { Imports } from '../imports/imports.ts';

/** The rows of an import that were not imported, as the file to correct and send again. */
export function importErrorsRoute(imports: Pick<Imports, 'errorFile'>): RawRoute {
  return {
    method: 'GET',
    path: '/api/v1/imports/{id}/errors.csv',
    access: 'person',
    answer: async ({ request, response, path }) => {
      const { name, text } = await imports.errorFile(path['id'] ?? '');
      response.writeHead(200, {
        'content-type': 'text/csv; charset=utf-8',
        'content-length': Buffer.byteLength(text),
        'content-disposition': `attachment; filename="${name}"`,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      response.end(request.method === 'HEAD' ? undefined : text);
    },
  };
}
