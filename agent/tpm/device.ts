import { open } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';

/** One TPM that takes a command and gives the response, one at a time. */
export interface TpmDevice extends AsyncDisposable {
  transmit(command: Buffer): Promise<Buffer>;
}

/** Through the kernel’s resource manager: what is loaded by a program that is killed goes with it. */
const TPM_DEVICE = '/dev/tpmrm0';
/** "PC Client Platform TPM Profile" 1.05, 5.5.1: the interface has a buffer of 4 KiB at most. */
const LARGEST_RESPONSE = 4096;

/** Throws KND_TPM_NONE where the machine has no TPM 2.0. */
export async function openTpmDevice(path = TPM_DEVICE): Promise<TpmDevice> {
  const file = await open(path, 'r+').catch((cause: unknown) => {
    throw new KindlingError('KND_TPM_NONE', `there is no ${path}: this machine shows no TPM 2.0`, { cause });
  });
  return {
    async transmit(command) {
      await file.write(command);
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(LARGEST_RESPONSE),
        0,
        LARGEST_RESPONSE,
        null,
      );
      return buffer.subarray(0, bytesRead);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}
