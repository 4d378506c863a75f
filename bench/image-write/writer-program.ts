import { writeImage } from '../../actions/image-writer/index.ts';
import { describeError } from '../../protocol/error.ts';

/**
 * The image writer in a process of its own, so that it can be measured, killed and put into a network namespace: the
 * request as JSON in the first argument, the result as JSON on standard output, the log on standard error.
 */
async function main(): Promise<void> {
  const result = await writeImage(JSON.parse(process.argv[2] ?? '{}'), {
    log: (level, message) => console.error(`${level}: ${message}`),
  });
  console.log(JSON.stringify(result));
}

// no top-level await: like the executable, it is bundled as CommonJS
main().catch((thrown: unknown) => {
  console.error(describeError(thrown));
  process.exitCode = 1;
});
