import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureIpxe } from '../../ipxe/debian-ipxe.ts';
import type { Namespace } from '../../lab/qemu/network.ts';
import { kill, makeFolder, removeFolder } from '../../lab/qemu/processes.ts';
import { waitFor } from '../../system/wait.ts';
import type { Row, RunBenchmark } from '../benchmark.ts';
import { createDelayedLink, type DelayedLink } from './delayed-link.ts';

const DELAY_MS = 1;
const RUNS = 3;
const WANTED_RATIO = 5;
const FILE = 'ipxe.efi';
const NODE_FLAG = '--disable-warning=ExperimentalWarning';
const program = (name: string) => join(import.meta.dirname, `${name}-program.ts`);

/** How clients ask: Smee's default, and what UEFI firmware (OVMF) and a client that fills the link ask for. */
const CLIENTS: readonly { name: string; options: Record<string, string> }[] = [
  { name: '512-byte blocks, no window (Smee’s default)', options: {} },
  { name: '1432-byte blocks (iPXE)', options: { blksize: '1432' } },
  { name: '1468-byte blocks, window of 4 (OVMF)', options: { blksize: '1468', windowsize: '4' } },
  { name: '1468-byte blocks, window of 32', options: { blksize: '1468', windowsize: '32' } },
];

/** A loader over a link with 1 ms delay each way: what block size and window are worth, next to dnsmasq's TFTP server. */
export const benchmarkTftp: RunBenchmark = async ({ say }) => {
  const folder = makeFolder('tftp');
  copyFileSync(join(await ensureIpxe(), FILE), join(folder, FILE));
  const sha256 = createHash('sha256')
    .update(readFileSync(join(folder, FILE)))
    .digest('hex');
  await using link = await createDelayedLink(DELAY_MS);
  say(`the link takes ${link.roundTripMs} ms there and back`);
  const rows: Row[] = [];
  const rates = new Map<string, number>();
  for (const [server, start] of [
    ['kindling', startOurs],
    ['dnsmasq', startDnsmasq],
  ] as const) {
    await using _running = await start(link, folder);
    for (const client of CLIENTS) {
      say(`${server}: ${client.name}`);
      const ms = await best(() => fetchOnce(link, sha256, client.options));
      const rate = readFileSync(join(folder, FILE)).length / ms / 1000;
      rates.set(`${server} ${client.name}`, rate);
      rows.push({ server, client: client.name, seconds: round(ms / 1000), 'MB/s': round(rate) });
    }
  }
  removeFolder(folder);
  const of = (index: number) => rates.get(`kindling ${CLIENTS[index]?.name}`) ?? 0;
  const ratio = of(2) / of(0);
  return {
    rows,
    bars: [
      {
        name: 'firmware’s own request against Smee’s default, same server',
        want: `≥ ${WANTED_RATIO}×`,
        got: `${round(ratio)}×`,
        ok: ratio >= WANTED_RATIO,
      },
    ],
  };
};

async function fetchOnce(
  { client, serverAddress }: DelayedLink,
  sha256: string,
  options: Record<string, string>,
): Promise<number> {
  const { stdout } = await client.run(
    process.execPath,
    [NODE_FLAG, program('client'), serverAddress, FILE, sha256, JSON.stringify(options)],
    { timeoutMs: 120_000 },
  );
  return (JSON.parse(stdout) as { ms: number }).ms;
}

/** The quickest of several: what disturbs a run only makes it slower. */
async function best(run: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < RUNS; index += 1) times.push(await run());
  return Math.min(...times);
}

async function startOurs({ server, serverAddress }: DelayedLink, folder: string): Promise<AsyncDisposable> {
  return startServer(
    server,
    process.execPath,
    [NODE_FLAG, program('server'), serverAddress, folder],
    /ready/,
  );
}

async function startDnsmasq({ server }: DelayedLink, folder: string): Promise<AsyncDisposable> {
  const args = [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--port=0',
    '--user=root',
    '--log-facility=-',
  ];
  return startServer(server, 'dnsmasq', [...args, '--enable-tftp', `--tftp-root=${folder}`], /started/);
}

async function startServer(
  namespace: Namespace,
  command: string,
  args: readonly string[],
  ready: RegExp,
): Promise<AsyncDisposable> {
  let log = '';
  const child = namespace.start(command, args, (text) => {
    log += text;
  });
  await waitFor(() => ready.test(log) || undefined, { name: command, timeoutMs: 20_000, intervalMs: 50 });
  return { [Symbol.asyncDispose]: () => kill(child) };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
