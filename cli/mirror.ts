import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DhcpMode } from '../netboot/dhcp/decide-reply.ts';
import { describeError, KindlingError } from '../protocol/error.ts';
import { onEndSignal } from '../system/end-signal.ts';
import { keepRunning } from '../system/keep-running.ts';

interface MirrorFlags {
  dir: string;
  key: string;
  ca?: string;
  pxe?: string;
  pxeMode: DhcpMode;
  port: number;
  every: number;
}

/** `kindling mirror`: boot files of a remote orchestrator on a small local box. */
export function defineMirror(mirror: Command): void {
  mirror
    .argument('<url>', 'boot files of the orchestrator, as in https://orchestrator.example/tink-stack')
    .requiredOption('--dir <folder>', 'where to keep them')
    .requiredOption('--key <key>', 'the site’s public key, as `kindling build site` prints it')
    .option('--ca <file>', 'PEM of the CA that signed the orchestrator’s certificate')
    .option('--pxe <device>', 'serve machines on this network device; without it: update once and end')
    .addOption(
      new Option('--pxe-mode <mode>', 'who gives addresses')
        .choices(['auto-proxy', 'off'])
        .default('auto-proxy'),
    )
    .option('--port <number>', 'HTTP port for the machines', positive, 8080)
    .option('--every <seconds>', 'how often to look for new files', positive, 300)
    .action(runMirror);
}

async function runMirror(url: string, flags: MirrorFlags): Promise<void> {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new KindlingError('KND_USAGE', `${url} is not an address that starts with http:// or https://`);
  const { decodePublicKey } = await import('../protocol/public-key.ts');
  if (!decodePublicKey(flags.key))
    throw new KindlingError('KND_USAGE', `--key ${flags.key} is not a site’s public key`);
  const origin = {
    url: url.replace(/\/$/, ''),
    ca: flags.ca === undefined ? undefined : readFileSync(flags.ca, 'utf8'),
  };
  const mirror = { folder: flags.dir, key: flags.key };
  const stop = new AbortController();
  onEndSignal(() => stop.abort());
  if (flags.pxe === undefined) {
    const { updateMirror } = await import('../netboot/mirror/update-mirror.ts');
    const { kind, version, downloaded } = await updateMirror(mirror, origin, stop.signal);
    console.log(`${kind}: release ${version}, ${downloaded} files downloaded`);
    return;
  }
  using _running = keepRunning((thrown) => console.error(describeError(thrown)));
  const { serveMirror } = await import('../netboot/mirror/serve-mirror.ts');
  await serveMirror(
    {
      ...mirror,
      origin,
      device: flags.pxe,
      mode: flags.pxeMode,
      httpPort: flags.port,
      everyMs: flags.every * 1000,
      onUpdate: ({ kind, version, downloaded }) => {
        if (kind === 'updated') console.log(`release ${version}: ${downloaded} files downloaded`);
      },
      onFailure: ({ code, message }) => console.log(`${code}: ${message}; serving what there is`),
    },
    stop.signal,
  );
}

function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new InvalidArgumentError('expected a number above 0');
  return number;
}
