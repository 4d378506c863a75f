/** The config file of the tutorial docs/tutorial/usb-stick.md; `kindling standalone example` writes it beside an image. */
export const EXAMPLE_CONFIG = `version: 1.0
operatingSystem:
  hostname: edge
  users:
    - username: edge
      password: Y2hhbmdlLW1lLXNvb24= # base64 of change-me-soon; better: a hash from openssl passwd -6
  network:
    - address: 192.0.2.10/24
      gateway: 192.0.2.1
      dns: [192.0.2.1]
disk:
  bus: nvme
image:
  file: debian.raw.zst
`;
