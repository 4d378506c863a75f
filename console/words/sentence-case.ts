/** Names of devices, which are written small. */
const DEVICE = /^(sd|vd|hd|nvme|mmcblk|md|dm-|eth|en[ops]|ib)[a-z0-9]*\b/;

/** "the image server answers 404" as a sentence of its own. */
export function sentenceCase(text: string): string {
  const first = DEVICE.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return first === '' || /[.!?…]$/.test(first) ? first : `${first}.`;
}
