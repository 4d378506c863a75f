import { expect, test } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';
import { startStub } from '../../../orchestrator-stub/serve.ts';
import { waitFor } from '../../../system/wait.ts';

const patience = { timeoutMs: 150_000 };
const prompted = { ...patience, prompt: true };
const PASSWORD = 'correcthorse';

test('a node nobody registered asks on both serial consoles; who signs in first brings it in, and no password is seen', async () => {
  const stateFolder = makeFolder('sign-in-test');
  const stub = await startStub({
    stateFolder,
    host: '127.0.0.1',
    port: false,
    plainPort: 0,
    user: { name: 'ada', password: PASSWORD },
  });
  try {
    const server = `http://10.0.2.2:${new URL(stub.urls.http).port}`;
    await using machine = await bootMachine({
      name: 'sign-in',
      memoryMb: 384,
      secondSerial: true,
      disks: [{ bus: 'virtio', size: '64M' }], // without any the agent waits for one
      nics: [{ model: 'virtio' }],
      smbios: { serial: 'SIGNIN1' },
      kernel: await microOsKernel({ cmdline: `console=ttyS1,115200 kindling.server=${server}` }),
    });
    const first = machine.console;
    const second = machine.secondConsole;
    await Promise.all([first.waitFor(/^Username: $/, prompted), second.waitFor(/^Username: $/, prompted)]);

    // Half an answer on one console: log lines do not tear it apart.
    first.type('some');
    await first.waitFor(/^Username: some$/, prompted);
    const torn = first.mark();
    await first.waitFor(/waiting for onboarding at .* since \d+ s/, { ...patience, after: torn });
    await first.waitFor(/^Username: some$/, { ...prompted, after: torn });

    second.type('ada\r');
    await second.waitFor(/^Password: $/, prompted);
    second.type('mistyped\r');
    await second.waitFor(/KND_SIGN_IN_REFUSED/, patience);
    const again = second.mark();
    await second.waitFor(/^Username: $/, { ...prompted, after: again });
    second.type('ada\r');
    await second.waitFor(/^Password: $/, { ...prompted, after: again });
    second.type(`${PASSWORD}\r`);
    await second.waitFor(/^Username, Password received: Processing$/, { ...prompted, after: again });

    await first.waitFor(/waiting for a workflow/, patience);
    const node = await waitFor(
      async () => {
        const response = await fetch(`${stub.urls.http}/api/v1/nodes/SIGNIN1`);
        const shown = (await response.json()) as { currentState: string };
        return shown.currentState === 'ONBOARDED' ? shown : undefined;
      },
      { name: 'the node on the server', timeoutMs: 90_000 },
    );
    expect(node).toMatchObject({ serial: 'SIGNIN1' });
    for (const console of [first, second]) {
      expect(console.text).not.toContain(PASSWORD);
      expect(console.text).not.toContain('mistyped');
    }
  } finally {
    await stub.close();
    removeFolder(stateFolder);
  }
});
