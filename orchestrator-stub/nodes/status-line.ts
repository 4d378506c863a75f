import type { Host } from './host.ts';
import { type Instance, systemLine } from './instance.ts';

/** The one line that says how a node is, for lists and events: the furthest thing that is going on, or what is wrong. */
export function statusLine(host: Host, instance: Instance | undefined): string {
  if (host.desiredState === 'DELETED') return 'Deleted';
  if (!host.isRegistered) return 'Discovered, not registered';
  if (host.currentState === 'UNTRUSTED') return 'Deauthorized';
  if (host.registrationStatus.indicator === 'ERROR') return host.registrationStatus.text;
  if (host.currentState !== 'ONBOARDED') {
    if (host.onboardingStatus.indicator === 'ERROR') return host.onboardingStatus.text;
    if (host.hostStatus.text) return host.hostStatus.text;
    if (host.onboardingStatus.indicator === 'IN_PROGRESS') return host.onboardingStatus.text;
    if (host.currentState === 'REGISTERED') {
      return host.desiredState === 'ONBOARDED' ? 'Onboarding' : 'Registered, waiting for “onboard”';
    }
    return 'Registered, not connected yet';
  }
  if (!instance) return 'Onboarded, waiting for a profile';
  if (instance.firstBootAt) return systemLine(instance);
  if (instance.provisioningStatus.indicator === 'ERROR') return instance.provisioningStatus.text;
  if (instance.currentState === 'RUNNING') return host.hostStatus.text || instance.provisioningStatus.text;
  return instance.provisioningStatus.text;
}
