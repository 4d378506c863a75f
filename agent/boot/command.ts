import { join } from 'node:path';
import { releaseAbandoned } from '../../actions/process/run-ledger.ts';
import { startChild } from '../../actions/process/start-child.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Identity } from '../../protocol/identity.ts';
import { type KernelArguments, parseKernelArguments } from '../../system/kernel-arguments.ts';
import { leaveMicroOs } from '../../system/leave-micro-os.ts';
import { type MachineFiles, machineFiles } from '../../system/machine-files.ts';
import { run } from '../../system/run.ts';
import { waitFor } from '../../system/wait.ts';
import { readAttributes } from '../attributes/read-attributes.ts';
import { loadConfig } from '../config/load-config.ts';
import { type Consoles, openConsoles, setConsoleSpeeds } from '../console/consoles.ts';
import { showStatus } from '../console/show-status.ts';
import { openSignInConsoles } from '../console/sign-in-consoles.ts';
import { createView, type View } from '../console/view.ts';
import { describeIdentity, rejectedFacts } from '../identity/describe.ts';
import { identify } from '../identity/identify.ts';
import { physicalNics } from '../identity/physical-nics.ts';
import { describeInventory } from '../inventory/describe.ts';
import { driverless, readPciDevices } from '../inventory/pci.ts';
import { takeInventory } from '../inventory/take-inventory.ts';
import { machine } from '../machine.ts';
import { runAgent } from '../run-agent.ts';
import { agentBuild } from '../version.ts';
import { checkAction, runOneAction } from './action-mode.ts';
import { setClockFromMachine, setClockFromNetwork, systemClock } from './clock/set-clock.ts';
import { keepLoadingDrivers, waitForDevices } from './devices.ts';
import { type FatalContext, holdFatal } from './fatal.ts';
import { bringUpNetwork, type Network } from './network/bring-up.ts';
import { dhcpClients } from './network/dhcp-client.ts';
import { DEFAULT_TIMEOUTS, type NetworkTimeouts } from './network/diagnose.ts';
import { parseNetwork } from './network/parse-network.ts';
import type { Target } from './network/reach.ts';
import { orchestratorTargets } from './orchestrator-targets.ts';
import { verifySiteArchive } from './site-archive.ts';
import { startWatchdog } from './watchdog.ts';

/** Where bring-up keeps what a restarted agent needs to know. */
const STATE = '/run/kindling';

interface Boot {
  files: MachineFiles;
  args: KernelArguments;
  consoles: Consoles;
  view: View;
  identity?: Identity;
}

/** `kindling-agent boot`: bring the machine up, then be the agent. Started, and restarted, by init. Never returns. */
export async function bootCommand(): Promise<number> {
  const files = machineFiles();
  const initStarted = files.text(`${STATE}/init-started`);
  if (initStarted === undefined) {
    throw new KindlingError(
      'KND_BOOT_NOT_MICROOS',
      'kindling-agent boot is for the Micro-OS only: its init did not run here',
    );
  }
  const args = parseKernelArguments(files.text('/proc/cmdline') ?? '');
  await setConsoleSpeeds(files, args, run);
  const consoles = openConsoles(files, args);
  const boot: Boot = { files, args, consoles, view: createView(files, consoles) };
  boot.view.reached('agent', {
    version: agentBuild.version,
    commit: agentBuild.commit,
    init: Number(initStarted),
    drivers: Number(files.text(`${STATE}/drivers-loaded`)),
  });
  boot.view.line('agent', `kindling-agent ${agentBuild.version} (${agentBuild.commit})`);
  // Before anything that may take its time: an action that outlived an agent may be writing.
  if ((await releaseAbandoned(run)) > 0)
    boot.view.line('agent', 'ended what an earlier agent had left running');
  startWatchdog(boot.view);
  keepLoadingDrivers(files, run);
  for (;;) {
    const attempt = new AbortController();
    try {
      await bringUpAndRun(boot, attempt.signal);
    } catch (thrown) {
      attempt.abort();
      await afterFailure(thrown, boot);
    }
  }
}

/** 0 config archive: is it the site's?  1 devices  2 identity  3 clock, network, clock again  4 inventory  5 the one action of kindling.action, or the agent. */
async function bringUpAndRun(boot: Boot, signal: AbortSignal): Promise<void> {
  const { files, args, view, consoles } = boot;
  const action = args.last('kindling.action');
  if (action) checkAction(action);
  const checked = verifySiteArchive(files, args);
  if (checked)
    view.line(
      'site',
      `config archive: ${checked.files} files, signed by the site, version ${checked.version}`,
    );
  const resolved = loadConfig([]);
  const { config } = resolved;
  const plan = parseNetwork(args);

  await waitForDevices(files, run, view);
  view.reached('devices');

  const identity = identify(files, args, config);
  boot.identity = identity;
  view.line('identity', describeIdentity(identity));
  noticeJunk(identity, view);
  view.reached('identity', { nodeId: identity.nodeId });

  const clock = { files, view, floor: agentBuild.time * 1000, ...systemClock(run) };
  await setClockFromMachine(clock);
  if (args.has('kindling.stick')) {
    const { installFromStick } = await import('../standalone/install.ts');
    const inventory = await takeInventory(files, args, config);
    const after = await installFromStick({
      args,
      inventory,
      view,
      consoles,
      signal,
      machine,
      run,
      startChild,
    });
    await consoles.flush();
    return leaveMicroOs(after);
  }
  const targets = action ? [] : orchestratorTargets(config);
  const network = await bringUpNetwork(plan, networkContext(boot, targets, signal)).catch(
    (thrown: unknown) => {
      // One action by hand may well need no network; if it does, it says so itself.
      if (!action || !(thrown instanceof KindlingError)) throw thrown;
      view.notice('network', thrown);
      return { chosen: undefined, leases: [], ntpServers: [] } satisfies Network;
    },
  );
  view.reached('network', { interface: network.chosen?.interface, address: network.chosen?.address });
  const source = await setClockFromNetwork(clock, {
    ntpServers: network.ntpServers,
    url: config.server,
    proxies: config,
  });
  view.reached('clock', { source });

  if (action) {
    await runOneAction(action, args, consoles, view);
    await consoles.flush();
    return leaveMicroOs('poweroff');
  }
  const inventory = await takeInventory(files, args, config);
  view.line('inventory', describeInventory(inventory));
  view.reached('inventory', { disks: inventory.disks.length, nics: inventory.nics.length });
  view.reached('run');
  await runAgent({
    resolved,
    takeInventory: async () => inventory,
    readAttributes: () => readAttributes(files),
    signal,
    onHumanLine: (line) => view.line('run', line.replace(/^\d\d:\d\d:\d\d /, '')), // our lines have a time already
    onStatus: showStatus(view, signal),
    openConsoles: () => openSignInConsoles(files, consoles, args.has('kindling.debug')),
  });
  await consoles.flush();
  await waitFor<never>(() => undefined, {
    name: 'the hand-over',
    timeoutMs: Number.POSITIVE_INFINITY,
    intervalMs: 60_000,
  });
}

function networkContext({ files, args, view, identity }: Boot, targets: Target[], signal: AbortSignal) {
  return {
    files,
    run,
    view,
    dhcp: dhcpClients(join(STATE, 'dhcp')),
    listNics: () => physicalNics(files),
    cardsWithoutDriver: () =>
      driverless(readPciDevices(files))
        .filter(({ what }) => what === 'network card')
        .map(({ device }) => `${device.vendorId}:${device.deviceId} at ${device.address}`),
    bootMac: identity?.bootMac,
    targets,
    timeouts: networkTimeouts(args),
    signal,
  };
}

/** kindling.net_timeout=<seconds> replaces them all; with one action to run nobody waits long for a network it may not need. */
function networkTimeouts(args: KernelArguments): NetworkTimeouts {
  const text = args.last('kindling.net_timeout');
  const seconds = Number(text);
  if (text !== undefined && !(seconds >= 1 && seconds <= 86_400)) {
    throw new KindlingError(
      'KND_NET_ARGUMENT',
      `the kernel argument kindling.net_timeout=${text} is wrong: it is a number of seconds`,
    );
  }
  if (text !== undefined)
    return { nicMs: seconds * 1000, linkMs: seconds * 1000, dhcpMs: seconds * 1000, reachMs: seconds * 1000 };
  return args.has('kindling.action')
    ? { nicMs: 2000, linkMs: 10_000, dhcpMs: 30_000, reachMs: 0 }
    : DEFAULT_TIMEOUTS;
}

function noticeJunk(identity: Identity, view: View): void {
  const rejected = rejectedFacts(identity);
  if (rejected.length === 0) return;
  view.notice(
    'identity',
    new KindlingError('KND_IDENTITY_JUNK', `the firmware’s identity is no use: ${rejected.join('; ')}`),
  );
}

async function afterFailure(thrown: unknown, { files, args, consoles, identity }: Boot): Promise<void> {
  const policy = args.last('kindling.on_failure');
  const context: FatalContext = {
    files,
    consoles,
    identity,
    policy: policy === 'reboot' || policy === 'poweroff' ? policy : 'hold',
    isDebug: args.has('kindling.debug'),
  };
  const next = await holdFatal(thrown, context);
  if (next === 'retry') return;
  await consoles.flush();
  await leaveMicroOs(next);
}
