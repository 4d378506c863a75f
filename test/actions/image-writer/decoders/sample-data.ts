import { seededRandom } from '../test-image.ts';

/** Words from a small vocabulary, so that matches are long and the move-to-front list is worked deep and shallow. */
export function text(length: number, seed: number): Buffer {
  const random = seededRandom(seed);
  const words = Array.from({ length: 500 }, () =>
    random()
      .toString(36)
      .slice(2, 2 + Math.ceil(random() * 9)),
  );
  let made = '';
  while (made.length < length) made += `${words[Math.floor(random() ** 3 * 500)]} `;
  return Buffer.from(made.slice(0, length));
}

/** Bytes that cannot be compressed, the same in every run. */
export function noise(length: number): Buffer {
  const random = seededRandom(length);
  return Buffer.from(Uint8Array.from({ length }, () => random() * 256));
}
