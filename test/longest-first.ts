import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first, as measured on two cores. Begun late, one of them would run on alone at the end. */
const LONGEST = [
  'actions/ubuntu/encryption.qemu.test.ts',
  'provisioning/immutable.qemu.test.ts',
  'standalone/usb/debian-stick.qemu.test.ts',
  'standalone/usb/stick.qemu.test.ts',
  'actions/microvisor/encryption.qemu.test.ts',
  'provisioning/first-boot-panics.qemu.test.ts',
  'actions/erase/leftovers.qemu.test.ts',
  'actions/templates.qemu.test.ts',
  'actions/disks.qemu.test.ts',
  'actions/image-writer/image-writer.qemu.test.ts',
  'netboot/secure-boot.qemu.test.ts',
  'lab/qemu/micro-os.qemu.test.ts',
  'actions/erase/drives.qemu.test.ts',
  'netboot/network-boot.qemu.test.ts',
  'actions/image-writer/kill-matrix.integration.test.ts',
  'actions/tinkerbell-actions.integration.test.ts',
  'initrd/micro-os/micro-os.integration.test.ts',
  'actions/image-writer/chunked-images.integration.test.ts',
  'actions/image-writer/link-cuts.integration.test.ts',
  'provisioning/neighbors.integration.test.ts',
];

/** Runs the long files first, so that the workers end together; vitest itself knows the times only after a first run. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return found === -1 ? LONGEST.length : found;
    };
    return sorted.sort(
      (a, b) =>
        a.project.config.sequence.groupOrder - b.project.config.sequence.groupOrder || rank(a) - rank(b),
    );
  }
}
