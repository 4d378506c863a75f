import { writeImage } from '../../../actions/image-writer/index.ts';
import { describeError } from '../../../protocol/error.ts';

/** A writer in a process of its own, so that a test can kill it: the request as JSON in the first argument. */
try {
  const result = await writeImage(JSON.parse(process.argv[2] ?? '{}'), {
    log: (level, message) => console.error(`${level}: ${message}`),
  });
  console.log(JSON.stringify(result));
} catch (thrown) {
  console.error(describeError(thrown));
  process.exitCode = 1;
}
