import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { diskKeysOf } from '../../../actions/encryption/disk-keys.ts';
import { obtainKeys } from '../../../actions/encryption/obtain-keys.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import type { Run } from '../../../system/run.ts';
import { disk } from '../disks/disk-fixture.ts';

const DISK = disk({ name: 'sda' });

let folder: string;
let server: Server;
let url: string;
/** What outlives a power cut: the keys in escrow, and the one in the TPM. */
let escrow: Set<string>;
let tpm: string | undefined;
/** Steps until the power fails: each thing that others are told, before and after they have it. */
let left: number;
let power: AbortController;

function step(): void {
  left -= 1;
  if (left === 0) power.abort(new Error('power cut'));
  power.signal.throwIfAborted();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-obtain-'));
  escrow = new Set();
  tpm = undefined;
  server = createServer(async (request, response) => {
    try {
      const { keyId } = (await json(request)) as { keyId: string };
      step();
      escrow.add(keyId);
      step();
      response.writeHead(201).end();
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/key`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const run: Run = async (_, [command, flag, value]) => {
  step();
  if (command === 'seal' && flag === '--data') tpm = value;
  step();
  return { stdout: command === 'unseal' ? (tpm ?? '') : '', stderr: '', exitCode: 0, durationMs: 0 };
};

/** Obtains keys; the power fails at this step. */
async function obtain(cutAt = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  left = cutAt;
  power = new AbortController();
  await using resources = new Resources(join(folder, 'ledger'));
  const variables = {
    KINDLING_ESCROW_URL: url,
    KINDLING_ESCROW: 'required',
    TLS_CA_CERT: undefined,
    LVM_SIZE: 0,
    FDE_PCRS: 'sha256:15',
  } as const;
  const context = { run, signal: power.signal, log: () => {}, resources };
  try {
    return (await obtainKeys(DISK, undefined, variables, context)).keys.keyId;
  } catch (thrown) {
    if (!power.signal.aborted) throw thrown;
    return undefined;
  }
}

describe('the keys of a disk', () => {
  test('are nowhere but in escrow until the escrow has said that it has them, wherever the power fails', async () => {
    let cuts = 0;
    for (let cutAt = 1; (await obtain(cutAt)) === undefined; cutAt += 1) {
      cuts += 1;
      // what the TPM has may open a disk; nothing that is not in escrow ever may
      if (tpm !== undefined) expect(escrow, `power cut at step ${cutAt}`).toContain(diskKeysOf(tpm).keyId);
      const keyId = await obtain();
      expect(escrow).toContain(keyId);
      expect(diskKeysOf(tpm ?? '').keyId).toBe(keyId);
      [escrow, tpm] = [new Set(), undefined];
    }
    // before and after each of: escrow, seal, unseal
    expect(cuts).toBe(6);
  });
});
