import { access } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import { stderrOf } from '../../system/run.ts';
import type { ActionContext } from '../contract/action.ts';

/** Through the kernel’s resource manager: the TPM’s few slots are not exhausted by a program that was killed. */
const DEVICE = '/dev/tpmrm0';
const TOOL = 'tpm2-initramfs-tool';

export async function requireTpm(): Promise<void> {
  await access(DEVICE).catch(() => {
    throw new KindlingError('KND_TPM_NONE', `there is no ${DEVICE}: this machine shows no TPM 2.0`);
  });
}

/**
 * Keeps a key in the TPM, given out only while these PCRs are as they are now. The program is the one that EMF’s systems unseal with, so the
 * object is where they look for it. PCR 15 is zero until the booted system has its key and fills it: afterwards nobody gets the key again.
 */
export async function sealInTpm(
  context: Pick<ActionContext, 'run'>,
  key: string,
  pcrs: string,
): Promise<void> {
  await tool(context, 'seal', ['--data', key, '--pcrs', pcrs]);
  if ((await unsealFromTpm(context, pcrs)) !== key) {
    throw new KindlingError('KND_TPM_FAILED', 'the TPM does not give back the key it was given');
  }
}

export async function unsealFromTpm(context: Pick<ActionContext, 'run'>, pcrs: string): Promise<string> {
  const { stdout } = await tool(context, 'unseal', ['--pcrs', pcrs]);
  return stdout.trim();
}

/** Errors carry only what the program said: its arguments may hold the key. */
async function tool(
  { run }: Pick<ActionContext, 'run'>,
  command: 'seal' | 'unseal',
  args: readonly string[],
) {
  try {
    return await run(TOOL, [command, ...args, '-T', `device:${DEVICE}`], { timeoutMs: 60_000 });
  } catch (cause) {
    if (cause instanceof KindlingError && cause.code === 'KND_TOOL_MISSING') throw cause;
    const last = stderrOf(cause).split('\n').at(-1) ?? '';
    throw new KindlingError('KND_TPM_FAILED', `the TPM could not ${command} the key${last && `: ${last}`}`);
  }
}
