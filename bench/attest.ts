import { randomUUID } from 'node:crypto';
import { PretendedTpm } from '../lab/tpm/pretended-tpm.ts';
import {
  ProofExchange,
  type ProofSaying,
  type ProofState,
} from '../orchestrator-stub/proof/proof-exchange.ts';
import { VendorCertificates } from '../orchestrator-stub/proof/vendor-certificates.ts';
import { answerChallenge, hashTranscript } from '../protocol/machine-proof.ts';
import { makeNodeKey } from '../protocol/sealed-secret.ts';
import type { RunBenchmark } from './benchmark.ts';

const PROOFS = 1000;
const MACHINES = 8;
const WANTED_MS = 5;
const CLIENT_SECRET = 'x'.repeat(32);

/** What one proof costs the orchestrator: question, evidence, challenge, answer, and the secret that is encrypted to it. */
export const benchmarkAttest: RunBenchmark = async ({ say }) => {
  say(`${PROOFS} proofs of ${MACHINES} machines, whose own work is not counted`);
  const tpms = Array.from({ length: MACHINES }, () => new PretendedTpm());
  const vendors = new VendorCertificates([], () => new Date());
  let cpuMicroseconds = 0;
  const count = async (work: () => Promise<ProofState>): Promise<ProofState> => {
    const before = process.cpuUsage();
    const state = await work();
    const { user, system } = process.cpuUsage(before);
    cpuMicroseconds += user + system;
    return state;
  };
  for (let proof = 0; proof < PROOFS; proof += 1) {
    const tpm = tpms[proof % MACHINES];
    if (tpm) await proveOnce(tpm, new ProofExchange(vendors), count);
  }
  const perProof = cpuMicroseconds / 1000 / PROOFS;
  return {
    rows: [
      {
        proofs: PROOFS,
        'CPU ms per proof': round(perProof),
        'proofs per CPU second': Math.round(1000 / perProof),
      },
    ],
    bars: [
      {
        name: 'CPU of the orchestrator for one proof',
        want: `< ${WANTED_MS} ms`,
        got: `${round(perProof)} ms`,
        ok: perProof < WANTED_MS,
      },
    ],
  };
};

async function proveOnce(
  tpm: PretendedTpm,
  exchange: ProofExchange,
  count: (work: () => Promise<ProofState>) => Promise<ProofState>,
): Promise<void> {
  const key = makeNodeKey().getPublicKey();
  const machine = { uuid: randomUUID(), serial: 'ABC12345', key };
  const say = (step?: ProofSaying['step']) => count(() => exchange.hear({ ...machine, step }));

  const wanted = await say();
  if (wanted.kind !== 'wanted') throw new Error(`the server is ${wanted.kind}, and asks for nothing`);
  exchange.wasSent();
  const evidence = tpm.showEvidence(wanted.want);
  const challenged = await say({ kind: 'evidence', evidence });
  if (challenged.kind !== 'challenged')
    throw new Error(`the server is ${challenged.kind}, and gives no challenge`);
  const transcript = hashTranscript({
    uuid: machine.uuid,
    serial: machine.serial,
    nodeKey: key,
    nonce: wanted.want.nonce,
    ekPublic: evidence.ekPublic,
    akPublic: evidence.akPublic,
    ...challenged.credential,
  });
  const answer = answerChallenge(tpm.activate(challenged.credential), transcript);
  const proven = await count(async () => {
    const state = await exchange.hear({ ...machine, step: { kind: 'answer', answer } });
    if (state.kind === 'proven') state.proven.seal(CLIENT_SECRET);
    return state;
  });
  if (proven.kind !== 'proven') throw new Error(`the server is ${proven.kind}, and believes nothing`);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
