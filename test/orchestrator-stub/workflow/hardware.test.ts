import { expect, test } from 'vitest';
import { isPlainValue } from '../../../orchestrator-stub/workflow/definition.ts';
import { renderTemplate } from '../../../orchestrator-stub/workflow/go-template/render.ts';
import { type HardwareObject, hardwareData } from '../../../orchestrator-stub/workflow/hardware.ts';

const OBJECT: HardwareObject = {
  kind: 'Hardware',
  metadata: { name: 'till-7' },
  spec: {
    disks: [{ device: '/dev/nvme0n1' }, { device: '/dev/sda' }],
    userData: '#cloud-config\n',
    interfaces: [
      {
        netboot: { allowPXE: true },
        dhcp: {
          mac: '52:54:00:12:34:56',
          name_servers: ['10.0.0.1', '10.0.0.2'],
          uefi: true,
          lease_time: 86400,
          vlan_id: '7',
          ip: { address: '10.0.0.7', netmask: '255.255.255.0', gateway: '10.0.0.1' },
        },
      },
    ],
    metadata: { instance: { hostname: 'till', tags: ['a', 'b'], operating_system: { distro: 'ubuntu' } } },
  },
};
const render = (text: string, object = OBJECT) => renderTemplate(text, hardwareData(object), { name: 't' });

test.each([
  ['{{ index .Hardware.Disks 0 }}', '/dev/nvme0n1'],
  ['{{ formatPartition (index .Hardware.Disks 0) 1 }}', '/dev/nvme0n1p1'],
  ['{{ (index .Hardware.Interfaces 0).DHCP.MAC }}', '52:54:00:12:34:56'],
  [
    '{{ with index .Hardware.Interfaces 0 }}{{ .DHCP.IP.Address }}/{{ .DHCP.IP.Netmask }}{{ end }}',
    '10.0.0.7/255.255.255.0',
  ],
  ['{{ range (index .Hardware.Interfaces 0).DHCP.NameServers }}{{ . }} {{ end }}', '10.0.0.1 10.0.0.2 '],
  [
    '{{ (index .Hardware.Interfaces 0).DHCP.UEFI }} {{ (index .Hardware.Interfaces 0).DHCP.LeaseTime }}',
    'true 86400',
  ],
  ['{{ (index .Hardware.Interfaces 0).DHCP.VLANID }}', '7'],
  ['{{ (index .Hardware.Interfaces 0).Netboot.AllowPXE }}', 'true'],
  ['{{ .Hardware.UserData }}', '#cloud-config\n'],
  ['[{{ .Hardware.VendorData }}]', '[]'],
  [
    '{{ .Hardware.Metadata.Instance.Hostname }} {{ .Hardware.Metadata.Instance.OperatingSystem.Distro }}',
    'till ubuntu',
  ],
  ['{{ .hardware.metadata.name }} {{ .hardware.spec.metadata.instance.hostname }}', 'till-7 till'],
  ['{{ len .references }}', '0'],
])('%s', (template, output) => {
  expect(render(template)).toBe(output);
});

test('what the object does not have is empty, and a missing part of it is an error', () => {
  expect(render('{{ .Hardware.Disks }}{{ len .Hardware.Interfaces }}', {})).toBe('[]0');
  expect(() => render('{{ .Hardware.Metadata.Instance.Hostname }}', {})).toThrow('nil pointer evaluating');
  expect(() => render('{{ .Hardware.Nonsense }}', {})).toThrow('Nonsense');
});

test('a value of the wrong type is named', () => {
  expect(() => hardwareData({ spec: { interfaces: [{ dhcp: { mac: 7 } }] } })).toThrow(
    expect.objectContaining({
      code: 'KND_HARDWARE_INVALID',
      message: 'hardware: spec.interfaces[0].dhcp.mac must be a text',
    }),
  );
});

test.each([
  ['/dev/disk/by-id/nvme-eui.0025', true],
  ['PF 123/45-6', true],
  ['x: y', false],
  ['- x', false],
  ['x\ny', false],
  ['x #y', false],
  ['{x', false],
])('%j of a node may be put into a template: %s', (value, isPlain) => {
  expect(isPlainValue(value)).toBe(isPlain);
});
