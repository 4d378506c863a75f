import type { Inventory } from '../../protocol/inventory.ts';
import { Fact } from '../parts/fact.tsx';
import { bytes, many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';

const SECURE_BOOT: Readonly<Record<string, string>> = {
  on: 'Secure Boot on',
  off: 'Secure Boot off',
  'setup-mode': 'Secure Boot in setup mode',
  unsupported: 'no Secure Boot',
};

/** What the machine is made of, as it said. What it did not say is left out. */
export function HardwareTab({ inventory }: { inventory: Partial<Inventory> | undefined }) {
  if (!inventory) return <p class="quiet">The machine has not told what it is made of yet.</p>;
  const { cpu, memory, nics, firmware, tpm } = inventory;
  return (
    <dl class="facts">
      {cpu && (
        <Fact name="Processor">
          {plainText(cpu.model ?? '', 120)}, {many(cpu.cores, 'core')}
        </Fact>
      )}
      {memory && (
        <Fact name="Memory">
          {bytes(memory.totalBytes)}
          {memory.modules?.length ? ` in ${many(memory.modules.length, 'module')}` : ''}
        </Fact>
      )}
      {firmware && (
        <Fact name="Firmware">
          {[
            firmware.kind === 'uefi' ? 'UEFI' : 'BIOS',
            firmware.vendor,
            firmware.version,
            firmware.date,
            SECURE_BOOT[firmware.secureBoot],
          ]
            .filter((fact) => fact !== undefined)
            .map((fact) => plainText(fact, 80))
            .join(' · ')}
        </Fact>
      )}
      <Fact name="TPM">{tpm ? [tpm.version, tpm.manufacturer].filter(Boolean).join(' · ') : 'none'}</Fact>
      {nics?.map((nic) => (
        <Fact key={nic.name} name={plainText(nic.name, 20)}>
          {[
            nic.mac,
            nic.hasLink ? `link${nic.speedMbps ? ` ${nic.speedMbps} Mbit/s` : ''}` : 'no link',
            ...(nic.addresses ?? []),
            nic.isBootNic ? 'booted over it' : undefined,
          ]
            .filter((fact) => fact !== undefined)
            .map((fact) => plainText(fact, 80))
            .join(' · ')}
        </Fact>
      ))}
    </dl>
  );
}
