import { openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import type { Profile } from '../nodes/profile.ts';

const QCOW2_MAGIC = Buffer.from([0x51, 0x46, 0x49, 0xfb]);
const PROBE_TIMEOUT_MS = 30_000;

/** Asks image servers once per address what kind of image they have. */
export class ImageFormats {
  readonly #known = new Map<string, Promise<boolean>>();

  /** EMF's rule: only a URL with ".img" is looked at, and whatever goes wrong means raw. */
  isQcow2(profile: Profile): Promise<boolean> {
    if (profile.imageFormat !== 'auto') return Promise.resolve(profile.imageFormat === 'qcow2');
    if (!profile.imageUrl.includes('.img')) return Promise.resolve(false);
    let known = this.#known.get(profile.imageUrl);
    if (!known) {
      known = probe(profile.imageUrl).catch(() => {
        this.#known.delete(profile.imageUrl);
        return false;
      });
      this.#known.set(profile.imageUrl, known);
    }
    return known;
  }
}

async function probe(url: string): Promise<boolean> {
  const response = await openResponse(siteNetwork(), url, {
    headers: { range: 'bytes=0-3' },
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    followsRedirects: true,
  });
  const isFound = response.status >= 200 && response.status < 300;
  // A server without ranges sends the whole image: no more than its start is read.
  let start = Buffer.alloc(0);
  for await (const piece of response.pieces()) {
    start = Buffer.concat([start, piece]);
    if (start.length >= QCOW2_MAGIC.length) break;
  }
  return isFound && start.subarray(0, QCOW2_MAGIC.length).equals(QCOW2_MAGIC);
}
