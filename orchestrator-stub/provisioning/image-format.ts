import type { Profile } from '../nodes/profile.ts';

const QCOW2_MAGIC = Buffer.from([0x51, 0x46, 0x49, 0xfb]);
const PROBE_TIMEOUT_MS = 30_000;

/** Asks image servers once per address what kind of image they have. */
export class ImageFormats {
  readonly #known = new Map<string, Promise<boolean>>();

  /** EMF's rule: only a URL with «.img» is looked at, and whatever goes wrong means raw. */
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
  const response = await fetch(url, {
    headers: { range: 'bytes=0-3' },
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return (
    response.ok &&
    Buffer.from(first?.value ?? [])
      .subarray(0, 4)
      .equals(QCOW2_MAGIC)
  );
}
