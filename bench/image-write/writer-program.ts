import { createHash } from 'node:crypto';
import { writeImage } from '../../actions/image-writer/index.ts';
import { describeError } from '../../protocol/error.ts';

/** The image writer as a program of its own: <url> <target> [+sha256 | delta | repair]. Prints its result as JSON. */
async function main([url = '', target = '', option]: string[]): Promise<void> {
  const mode = option === 'delta' || option === 'repair' ? option : 'write';
  const expected = option === '+sha256' ? { expected: { sha256: await digest(url) } } : {};
  const result = await writeImage({ sources: [url], target, ...expected, chunks: { mode } });
  console.log(JSON.stringify(result));
}

/** As an orchestrator would give it: published beside the image. */
async function digest(url: string): Promise<string> {
  const published = await fetch(`${url}.sha256`);
  if (published.ok) return (await published.text()).trim();
  return createHash('sha256')
    .update(Buffer.from(await (await fetch(url)).arrayBuffer()))
    .digest('hex');
}

main(process.argv.slice(2)).catch((thrown: unknown) => {
  console.error(describeError(thrown));
  process.exitCode = 1;
});
