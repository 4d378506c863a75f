/** DHCP option codes Kindling reads or writes (RFC 2132, 3004, 3046, 3442, 4578, 3679). */
export const DhcpOption = {
  pad: 0,
  subnetMask: 1,
  router: 3,
  dnsServers: 6,
  logServers: 7,
  hostName: 12,
  domainName: 15,
  broadcastAddress: 28,
  ntpServers: 42,
  vendorSpecific: 43,
  requestedAddress: 50,
  leaseSeconds: 51,
  optionOverload: 52,
  messageType: 53,
  serverIdentifier: 54,
  parameterRequestList: 55,
  message: 56,
  maximumMessageSize: 57,
  vendorClass: 60,
  clientIdentifier: 61,
  tftpServerName: 66,
  bootFileName: 67,
  userClass: 77,
  relayAgentInformation: 82,
  clientArchitecture: 93,
  clientNetworkInterface: 94,
  clientMachineIdentifier: 97,
  ipxeEncapsulated: 175,
  end: 255,
} as const;

/** DHCP message types (RFC 2132 9.6). */
export const DhcpMessageType = {
  discover: 1,
  offer: 2,
  request: 3,
  decline: 4,
  ack: 5,
  nak: 6,
  release: 7,
  inform: 8,
} as const;

/** PXE sub-options inside option 43 (PXE 2.1 specification, table 2-1). */
export const PxeSubOption = {
  discoveryControl: 6,
  bootServers: 8,
  bootMenu: 9,
  menuPrompt: 10,
  bootItem: 71,
  end: 255,
} as const;

/** Discovery control bit 3: take the boot file of this very offer, do not look for boot servers. */
export const USE_THIS_BOOT_FILE = 0x08;
