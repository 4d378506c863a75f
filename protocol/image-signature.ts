/**
 * What is signed for a plain image: a line that names the purpose, so that a signature made for something else can
 * never pass for one of an image. The signature is Ed25519, base64, in `<image>.sig`.
 */
export function imageSignatureText(sha256: string): string {
  return `kindling-image-sha256 ${sha256.toLowerCase()}\n`;
}
