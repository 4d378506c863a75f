import { join } from 'node:path';
import { bringUpNetwork } from '../../../../agent/boot/network/bring-up.ts';
import { dhcpClients } from '../../../../agent/boot/network/dhcp-client.ts';
import { parseNetwork } from '../../../../agent/boot/network/parse-network.ts';
import { parseMac } from '../../../../formats/mac-address.ts';
import { toKindlingError } from '../../../../protocol/error.ts';
import { parseKernelArguments } from '../../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../../system/machine-files.ts';
import { type Run, run } from '../../../../system/run.ts';
import { recordingView } from '../recording-view.ts';

// Runs inside the node's namespace: brings the network up as the kernel line says, prints what came of it as JSON, ends.
const settings = JSON.parse(process.argv[2] ?? '{}') as {
  kernelLine: string;
  folder: string;
  seconds: number;
  target?: string;
  bootMac?: string;
};
const real = machineFiles();
const { view, lines } = recordingView();
const withBusybox: Run = (program, args, options) => run('busybox', [program, ...args], options);
const timeoutMs = settings.seconds * 1000;
let outcome: object;
try {
  const network = await bringUpNetwork(parseNetwork(parseKernelArguments(settings.kernelLine)), {
    // /sys of the machine, but files below /etc and the host name go to the test's folder
    files: { ...real, path: (path) => join(path.startsWith('/sys') ? '/' : settings.folder, path) },
    run: withBusybox,
    dhcp: dhcpClients(join(settings.folder, 'dhcp')),
    view,
    listNics: () =>
      real
        .names('/sys/class/net')
        .filter((name) => name.startsWith('eth'))
        .map((name) => ({
          name,
          mac: parseMac(real.text(`/sys/class/net/${name}/address`) ?? '') ?? '',
        })),
    cardsWithoutDriver: () => [],
    bootMac: settings.bootMac,
    targets: settings.target ? [{ host: settings.target, port: 4711 }] : [],
    timeouts: { nicMs: timeoutMs, linkMs: timeoutMs, dhcpMs: timeoutMs, reachMs: 6000 },
    signal: new AbortController().signal,
  });
  outcome = network;
} catch (thrown) {
  outcome = { error: toKindlingError(thrown).code, ntpServers: [] };
}
process.stdout.write(`${JSON.stringify({ ...outcome, lines })}\n`, () => process.exit(0));
