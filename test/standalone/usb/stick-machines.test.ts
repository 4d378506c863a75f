import { expect, test } from 'vitest';
import type { Config } from '../../../standalone/config/schema.ts';
import { microOsFor, stickMachines } from '../../../standalone/usb/stick-machines.ts';

async function machineFor(config: Config, artifacts: string[] = []) {
  const [machine] = await stickMachines(
    [{ entry: undefined, match: 'default', refuse: false, config }],
    artifacts,
  );
  if (machine === undefined) throw new Error('no machine');
  return machine;
}

test.each<[string, Config, object, 'minimal' | 'full']>([
  ['any image', { image: { file: 'a' } }, {}, 'minimal'],
  [
    'any image with a volume group',
    { image: { file: 'a' }, operatingSystem: { lvmSizeGiB: 20 } },
    { lvmGigabytes: 20 },
    'full',
  ],
  [
    'an Edge Microvisor image, sealed unless the file says otherwise',
    { image: { profile: 'emt' } },
    { seal: { isEncrypted: false, lvmGigabytes: 0 } },
    'minimal',
  ],
  ['one left as it is', { image: { profile: 'emt', protection: 'none' } }, {}, 'minimal'],
  [
    'one that is encrypted, with a volume group',
    { image: { profile: 'emt', protection: 'encryption' }, operatingSystem: { lvmSizeGiB: 5 } },
    { seal: { isEncrypted: true, lvmGigabytes: 5 } },
    'full',
  ],
])('%s: what protects it, and the Micro-OS that can do that', async (_, config, expected, profile) => {
  const machine = await machineFor(config);
  const { seal, lvmGigabytes } = machine;
  expect({ ...(seal ? { seal } : {}), ...(lvmGigabytes ? { lvmGigabytes } : {}) }).toEqual(expected);
  expect(microOsFor([machine])).toBe(profile);
});

test('defaults: a countdown of ten seconds, a reboot, no other disk erased', async () => {
  expect(await machineFor({})).toMatchObject({
    confirm: 'countdown',
    countdownSeconds: 10,
    after: 'reboot',
    wipeOthers: false,
    diskSelector: 'size>0',
  });
});

test('programs and scripts among the artifacts can be run', async () => {
  const { artifacts } = await machineFor({}, [
    'artifacts/k3s',
    'artifacts/bin/setup.sh',
    'artifacts/k3s.tar',
  ]);
  expect(artifacts).toEqual([
    { name: 'artifacts/k3s', path: '/opt/k3s', mode: '0755' },
    { name: 'artifacts/bin/setup.sh', path: '/opt/bin/setup.sh', mode: '0755' },
    { name: 'artifacts/k3s.tar', path: '/opt/k3s.tar', mode: '0644' },
  ]);
});
