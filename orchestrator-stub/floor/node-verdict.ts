import { type FloorReason, NODE_STATUSES, type NodeStatus } from '../../protocol/floor.ts';
import { type Host, lastStatusAt } from '../nodes/host.ts';
import { awaitsFirstBoot, FIRST_BOOT_FAILED, type Instance, unfinishedAgents } from '../nodes/instance.ts';
import { isTerminal, planToApprove, type StoredWorkflow } from '../workflow/workflow.ts';
import type { NodeFacts } from './floor-node.ts';
import { reasonOf } from './reason.ts';
import { stageSince, wordLimitMs } from './silence.ts';
import { heardAtOf } from './stage.ts';

/** How a node is, and what follows from the clock alone. */
export interface Verdict {
  status: NodeStatus;
  since: string;
  reason: FloorReason | null;
  /** Hash of the disk plan that waits for approval. */
  plan: string | null;
  /** Whether it is, or was stopped, in a stage. */
  hasStage: boolean;
  changesAtMs: number | null;
}

/** A system that does not report restarts into the Micro-OS by itself, which takes a while, too. */
const FIRST_BOOT_GRACE_MS = 5 * 60_000;

/** The one status of a node: 1 who it is  2 whether it is in  3 what became of its system  4 how its workflow goes. */
export function judgeNode(facts: NodeFacts, nowMs: number): Verdict {
  const { host, instance, workflow } = facts;
  const isAtWork = workflow !== undefined && !isTerminal(workflow.progress.state);
  // 1 who it is
  if (!host.isRegistered && !workflow) return plain('stranger', host.createdAt);
  if (host.currentState === 'UNTRUSTED') return plain('deauthorized', host.hostStatus.at);
  if (host.registrationStatus.indicator === 'ERROR') {
    const { text, at } = host.registrationStatus;
    return { ...plain('mismatch', at), reason: reasonOf(text, 'mismatch') };
  }
  // 2 whether it is in; a workflow that was started by hand does not ask
  if (host.currentState !== 'ONBOARDED' && !isAtWork) {
    if (!instance && workflow) return judgeWorkflow(facts, workflow, nowMs);
    return judgeEntrance(host, instance, nowMs);
  }
  if (!instance) {
    return workflow
      ? judgeWorkflow(facts, workflow, nowMs)
      : plain('wants-profile', host.onboardingStatus.at);
  }
  // 3 what became of its system
  if (instance.firstBootAt) return judgeSystem(facts, instance, nowMs);
  if (awaitsFirstBoot(instance)) return judgeFirstBoot(facts, instance, nowMs);
  // 4 how its workflow goes
  if (workflow?.definition.generation === instance.generation) return judgeWorkflow(facts, workflow, nowMs);
  return judgePreparation(facts, instance, nowMs);
}

function judgeEntrance(host: Host, instance: Instance | undefined, nowMs: number): Verdict {
  const since = lastStatusAt(host);
  if (host.currentState !== 'REGISTERED') return plain('registered', since);
  if (host.desiredState !== 'ONBOARDED') return plain('wants-onboard', since);
  if (instance) return plain('wants-boot', since);
  const heardAt = host.lastSeenAt && host.lastSeenAt > since ? host.lastSeenAt : since;
  return unlessSilent({ ...plain('onboarding', since) }, heardAt, wordLimitMs(undefined), nowMs);
}

function judgeFirstBoot({ host, firstBootMinutes }: NodeFacts, instance: Instance, nowMs: number): Verdict {
  const { text, indicator, at } = instance.provisioningStatus;
  if (indicator === 'ERROR') {
    const said = text.replace(FIRST_BOOT_FAILED, '');
    const reason = { ...reasonOf(said, 'first-boot-failed'), code: 'KND_FIRST_BOOT_FAILED' };
    return { ...plain('first-boot-failed', at), reason };
  }
  if (host.hostStatus.text === 'Provisioned') return plain('provisioned', at);
  const lateAtMs = Date.parse(at) + firstBootMinutes * 60_000 + FIRST_BOOT_GRACE_MS;
  if (nowMs < lateAtMs) return { ...plain('first-boot', at), hasStage: true, changesAtMs: lateAtMs };
  const message = `the installed system has not reported within ${firstBootMinutes} minutes`;
  return { ...plain('first-boot-late', at), hasStage: true, reason: reasonOf(message, 'first-boot-late') };
}

/** The system has booted. It runs when its agents do; one that starts them and falls silent has lost power or network. */
function judgeSystem({ host, firstBootMinutes }: NodeFacts, instance: Instance, nowMs: number): Verdict {
  const agents = unfinishedAgents(instance);
  if (!agents) return plain('running', instance.agents?.at ?? instance.firstBootAt ?? instance.createdAt);
  const { at, reason } = agents;
  if (agents.state === 'failed')
    return { ...plain('agents-failed', at), reason: reasonOf(reason, 'agents-failed') };
  const heardAt = host.lastSeenAt && host.lastSeenAt > at ? host.lastSeenAt : at;
  const limitMs = firstBootMinutes * 60_000 + FIRST_BOOT_GRACE_MS;
  return unlessSilent({ ...plain('installing-agents', at), hasStage: true }, heardAt, limitMs, nowMs);
}

/** The workflow of this generation is not there yet, or could not be made. */
function judgePreparation({ host }: NodeFacts, instance: Instance, nowMs: number): Verdict {
  const { text, indicator, at, error } = instance.provisioningStatus;
  if (indicator === 'ERROR') {
    const { code = null, hint = NODE_STATUSES.failed.next } = error ?? {};
    const message = text.replace(/^Provisioning Failed: /, '');
    return { ...plain('failed', at), reason: { code, message, next: hint } };
  }
  const heardAt = host.lastSeenAt && host.lastSeenAt > at ? host.lastSeenAt : at;
  return unlessSilent(plain('provisioning', at), heardAt, wordLimitMs(undefined), nowMs);
}

function judgeWorkflow(facts: NodeFacts, workflow: StoredWorkflow, nowMs: number): Verdict {
  const { progress } = workflow;
  const since = progress.finishedAt ?? stageSince(workflow);
  const inStage = { hasStage: true, plan: null, reason: null, changesAtMs: null, since };
  if (progress.state === 'SUCCESS') return plain('provisioned', since);
  if (progress.state === 'CANCELLED') {
    return { ...inStage, status: 'canceled', reason: reasonOf(progress.message, 'canceled') };
  }
  if (isTerminal(progress.state)) {
    const plan = planToApprove(progress) ?? null;
    const status = plan === null ? 'failed' : 'wants-approval';
    return { ...inStage, status, plan, reason: reasonOf(progress.message, status) };
  }
  if (progress.isPaused) return { ...inStage, status: 'paused' };
  const heardAt = heardAtOf(facts.host, workflow);
  const quietSince = heardAt && heardAt > since ? heardAt : since;
  return unlessSilent({ ...inStage, status: 'provisioning' }, quietSince, wordLimitMs(workflow), nowMs);
}

function plain(status: NodeStatus, since: string): Verdict {
  return { status, since, reason: null, plan: null, hasStage: false, changesAtMs: null };
}

/** A pulled plug says nothing: what was at work becomes silent when its time is up. */
function unlessSilent(verdict: Verdict, quietSince: string, limitMs: number, nowMs: number): Verdict {
  const changesAtMs = Date.parse(quietSince) + limitMs;
  if (nowMs < changesAtMs) return { ...verdict, changesAtMs };
  const reason = reasonOf(`no word since ${quietSince}`, 'silent');
  return { ...verdict, status: 'silent', since: quietSince, reason };
}
