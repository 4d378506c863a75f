import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../system/wait.ts';
import { startGuarded } from './processes.ts';

/** Starts a TPM 2.0 whose state stays in `folder`; it ends by itself when QEMU hangs up. Gives the socket for QEMU. */
export async function startTpm(folder: string, boot: number): Promise<string> {
  const state = join(folder, 'tpm');
  const socket = join(folder, `tpm${boot}.sock`);
  mkdirSync(state, { recursive: true });
  startGuarded(
    'swtpm',
    ['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--ctrl', `type=unixio,path=${socket}`, '--terminate'],
    { stdio: 'ignore' },
  );
  await waitFor(() => (existsSync(socket) ? true : undefined), {
    name: 'the socket of the TPM',
    timeoutMs: 10_000,
    intervalMs: 20,
  });
  return socket;
}
