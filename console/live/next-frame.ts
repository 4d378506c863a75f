const HIDDEN_FRAME_MS = 250;

/** Two hundred events a second are drawn together, as often as the screen is. A tab in the background has no frames. */
export function beforeNextFrame(work: () => void): void {
  if (document.hidden) setTimeout(work, HIDDEN_FRAME_MS);
  else requestAnimationFrame(work);
}
