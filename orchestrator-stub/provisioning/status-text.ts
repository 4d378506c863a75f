import type { Indicator } from '../nodes/host.ts';
import { currentIndex, type WorkflowDefinition, type WorkflowProgress } from '../workflow/workflow.ts';

/** What EMF's user interface says while an action runs (docs/background/emf.md#status-texts). */
const DETAILS: Record<string, string> = {
  'erase-non-removable-disk': 'Erasing data from all non-removable disks',
  'secure-boot-status-flag-read': 'Verifying Secure Boot settings',
  'stream-os-image': 'Streaming OS image',
  'install-cloud-init': 'Installing cloud-init',
  'custom-configs': 'Copying custom cloud-init configs',
  'custom-configs-split': 'Installing custom cloud-init configs',
  'cloud-init-ds-identity': 'Setting up cloud-init',
  'add-apt-proxy': 'Configuring APT proxy settings',
  'profile-pkg-and-node-agents-install-script-download': 'Downloading installation scripts',
  'service-script-for-profile-pkg-and-node-agents-install': 'Installing packages',
  'system-configuration': 'Applying system configuration',
  'fde-encryption': 'Setting FDE encryption',
  'enable-security-features': 'Enabling OS security features',
  'kernel-upgrade': 'Upgrading kernel',
  'efibootset-for-diskboot': 'Setting boot option',
  reboot: 'Rebooting',
};

/** What an action does, for a person. */
export function actionDetail(name: string): string {
  return DETAILS[name] ?? name;
}

/** The provisioning status with EMF's words; unlike there, the reason of a failure is part of it. */
export function provisioningStatus(
  definition: WorkflowDefinition,
  progress: WorkflowProgress,
): { text: string; indicator: Indicator } {
  const total = definition.actions.length;
  const index = Math.min(currentIndex(progress), total - 1);
  const name = definition.actions[index]?.name ?? '';
  const detail = actionDetail(name);
  const at = `${index + 1}/${total}: ${detail}`;
  const reason = progress.message ? `: ${progress.message}` : '';
  switch (progress.state) {
    case 'SUCCESS':
      return { text: 'Provisioned', indicator: 'IDLE' };
    case 'FAILED':
      return { text: `Provisioning Failed: ${at} failed${reason}`, indicator: 'ERROR' };
    case 'TIMEOUT':
      return { text: `Provisioning Failed: ${at} timeout${reason}`, indicator: 'ERROR' };
    case 'CANCELLED':
      return { text: `Provisioning Canceled: ${at}${reason}`, indicator: 'ERROR' };
    default: {
      const pause = progress.isPaused ? ' (paused)' : '';
      return { text: `Provisioning In Progress: ${at}${pause}`, indicator: 'IN_PROGRESS' };
    }
  }
}
