import { getCACertificates } from 'node:tls';
import { openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { toKindlingError } from '../../protocol/error.ts';

export interface ImageAnswer {
  isThere: boolean;
  /** What the server of the image says. */
  detail: string;
}

const LOOK_MS = 10_000;

/** Asks the server of an image for it. Only http(s) can be asked from here; anything else is taken as there. */
export async function askForImage(url: string, siteCa: string): Promise<ImageAnswer> {
  if (!/^https?:/.test(url)) return { isThere: true, detail: 'not asked: it is no http address' };
  try {
    // The image may be the orchestrator's own file, or anybody's.
    const network = siteNetwork([...getCACertificates('default'), siteCa]);
    const response = await openResponse(network, url, {
      method: 'HEAD',
      followsRedirects: true,
      signal: AbortSignal.timeout(LOOK_MS),
    });
    response.discard();
    const { status } = response;
    // A server that knows no HEAD is there all the same.
    return {
      isThere: status < 400 || status === 405 || status === 501,
      detail: `the server answers ${status}`,
    };
  } catch (thrown) {
    return { isThere: false, detail: toKindlingError(thrown).message };
  }
}
