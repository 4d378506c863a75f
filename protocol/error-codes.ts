/** Exit codes by class: 1 failed, 2 usage or invalid config, 3 environment, 4 refused for safety. */
export type ExitClass = 1 | 2 | 3 | 4;

interface CodeEntry {
  exit: ExitClass;
  retryable: boolean;
  /** What it means, for the reference page. */
  meaning: string;
  /** What to do next, in general. */
  hint: string;
}

/**
 * Every error code of Kindling. The reference page docs/reference/errors.md is generated from this table.
 * Codes are an API: they are added, never renamed or reused. One section per part of the product, sorted within.
 */
export const ERROR_CODES = {
  // --- anywhere ---
  KND_COMMAND_FAILED: {
    exit: 1,
    retryable: false,
    meaning: 'A program that Kindling ran ended with an error.',
    hint: 'Read the program’s own message, which is part of this error.',
  },
  KND_TIMEOUT: {
    exit: 1,
    retryable: true,
    meaning: 'Something that was waited for did not happen before its deadline.',
    hint: 'The message names what was waited for; check that part first.',
  },
  KND_FILE_ACCESS: {
    exit: 3,
    retryable: false,
    meaning:
      'A file or folder cannot be read or written: it is not there, permission is denied, or there is no room.',
    hint: 'Check the path, who owns it, and the room on its disk.',
  },
  KND_UNEXPECTED: {
    exit: 1,
    retryable: false,
    meaning: 'A failure Kindling has no name for: a defect in Kindling.',
    hint: 'Please report it with the log.',
  },
  KND_USAGE: {
    exit: 2,
    retryable: false,
    meaning: 'The command line is wrong.',
    hint: 'Run the command with --help.',
  },

  // --- actions ---
  KND_ACTION_CANCELLED: {
    exit: 1,
    retryable: true,
    meaning: 'An action was canceled.',
    hint: 'Start the workflow again if that was not wanted; what the action had mounted or mapped was given back.',
  },
  KND_ACTION_DIED: {
    exit: 1,
    retryable: true,
    meaning: 'The process of an action ended without saying how (killed, out of memory, crashed).',
    hint: 'Look at the kernel log for an out-of-memory kill; run the action by hand with kindling-agent action.',
  },
  KND_ACTION_TIMEOUT: {
    exit: 1,
    retryable: true,
    meaning: 'An action ran longer than the workflow allows.',
    hint: 'Give it a longer timeout, or look at its last progress to see what it was waiting for.',
  },
  KND_ACTION_UNKNOWN: {
    exit: 2,
    retryable: false,
    meaning: 'A workflow names an action image that Kindling does not know.',
    hint: 'Check the spelling of the image’s last path component; kindling-agent action lists what there is.',
  },
  KND_ACTION_VARIABLES: {
    exit: 2,
    retryable: false,
    meaning: 'Variables of an action are missing or wrong; nothing was touched.',
    hint: 'Run kindling-agent action <name> --help for what it takes.',
  },
  KND_ARCHIVE_INVALID: {
    exit: 1,
    retryable: false,
    meaning: 'An archive cannot be unpacked, or is not what its checksum says.',
    hint: 'Make the archive anew; check the checksum in the workflow.',
  },
  KND_CLOUD_INIT_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A cloud-init configuration is wrong; nothing was written.',
    hint: 'Correct what the message names; it gives the lines.',
  },
  KND_COMMAND_LINE: {
    exit: 2,
    retryable: false,
    meaning: 'A command line cannot be split into words.',
    hint: 'Close every quote, or set DEFAULT_INTERPRETER to /bin/sh -c.',
  },
  KND_CERTIFICATE_INVALID: {
    exit: 4,
    retryable: false,
    meaning: 'A certificate of erasure is missing, was changed after it was signed, or is another signer’s.',
    hint: 'Take it from the log of the node itself, and the public key from who runs the site.',
  },
  KND_CONSENT_REQUIRED: {
    exit: 4,
    retryable: false,
    meaning: 'A site wants to be asked before a disk is destroyed, and nobody has approved this plan.',
    hint: 'Approve the plan with “kindling workflow approve”, which runs the action again with KINDLING_CONSENT set to its hash.',
  },
  KND_CONTAINER_FAILED: {
    exit: 1,
    retryable: false,
    meaning: 'The container of an action ended with an error.',
    hint: 'Read what it printed: the log has it line by line.',
  },
  KND_DISK_AMBIGUOUS: {
    exit: 4,
    retryable: false,
    meaning: 'More than one disk fits, and nothing says which is meant.',
    hint: 'Name it with DEST_DISK, or select it with KINDLING_DISK, for instance serial=….',
  },
  KND_DISK_BUSY: {
    exit: 1,
    retryable: true,
    meaning: 'A disk is in use: something on it is mounted, mapped or opened by another program.',
    hint: 'The message says by what; stop that first.',
  },
  KND_DISK_IO: {
    exit: 1,
    retryable: false,
    meaning: 'A disk could not be opened, read or written.',
    hint: 'Look at the kernel log; a disk that gives I/O errors has to be replaced.',
  },
  KND_DISK_NONE: {
    exit: 4,
    retryable: false,
    meaning: 'No disk of the machine can be the target.',
    hint: 'The message says for each disk why not; a disk that is missing may need a driver or a BIOS setting.',
  },
  KND_DISK_NOT_FOUND: {
    exit: 4,
    retryable: false,
    meaning: 'The disk or partition that was named does not exist.',
    hint: 'Use one of the names in the message; kernel names change between boots, by-id links do not.',
  },
  KND_DISK_REFUSED: {
    exit: 4,
    retryable: false,
    meaning: 'The disk that was named must not be written.',
    hint: 'Name another disk.',
  },
  KND_DISK_SELECTOR: {
    exit: 2,
    retryable: false,
    meaning: 'A disk selector cannot be read.',
    hint: 'See docs/reference/actions.md for its words.',
  },
  KND_DISK_TOO_SMALL: {
    exit: 4,
    retryable: false,
    meaning: 'A disk is too small for what is to be put on it.',
    hint: 'Choose another disk, or a smaller image or layout.',
  },
  KND_ENCRYPTION_PACKAGES: {
    exit: 3,
    retryable: true,
    meaning:
      'A mutable system is to be encrypted, lacks the packages that open an encrypted root, and could not install them; nothing was encrypted.',
    hint: 'Put cryptsetup-initramfs and tpm2-initramfs-tool into the image, or give the node access to its package repositories (and /etc/apt/apt.conf the proxy).',
  },
  KND_ENCRYPTION_UNSUPPORTED: {
    exit: 4,
    retryable: false,
    meaning:
      'Full disk encryption was asked for, of a system that starts in a way Kindling cannot change: no GRUB, no initramfs-tools, no GUID partition table. Nothing was touched.',
    hint: 'Use an image like Ubuntu’s or Debian’s cloud images, or choose a profile without encryption: security NONE.',
  },
  KND_ERASE_INCOMPLETE: {
    exit: 1,
    retryable: false,
    meaning: 'A disk was erased, but something of what was on it can still be found.',
    hint: 'Choose another ERASE_METHOD: nvme-format, ata-secure-erase or overwrite. If a proof is needed and none gives it, the disk must not leave the site.',
  },
  KND_ERASE_UNSUPPORTED: {
    exit: 4,
    retryable: false,
    meaning: 'A disk cannot be erased by the method that was asked for.',
    hint: 'Take another ERASE_METHOD; the message says what the disk lacks.',
  },
  KND_ESP_NONE: {
    exit: 1,
    retryable: false,
    meaning: 'The target disk has no EFI system partition, so UEFI firmware cannot boot it.',
    hint: 'Write an image that has one, or boot the machine by BIOS.',
  },
  KND_DOWNLOAD: {
    exit: 1,
    retryable: true,
    meaning:
      'Something that an action needs could not be downloaded: its server cannot be reached, answers with an error, or breaks off.',
    hint: 'Check the address that the message names, that its server runs, and the proxy of the site (http_proxy, https_proxy, no_proxy).',
  },
  KND_ESCROW_FAILED: {
    exit: 1,
    retryable: true,
    meaning: 'The recovery key of a disk that is to be encrypted was not accepted; nothing was encrypted.',
    hint: 'Check that the machine reaches the address and that it answers with 2xx; then run the action again.',
  },
  KND_ESCROW_NONE: {
    exit: 2,
    retryable: false,
    meaning: 'A disk is to be encrypted, but nobody would have its recovery key; nothing was touched.',
    hint: 'Set KINDLING_ESCROW_URL, or KINDLING_ESCROW=none to go without.',
  },
  KND_FILE_FETCH: {
    exit: 1,
    retryable: true,
    meaning: 'A file for the installed system could not be fetched.',
    hint: 'Check the address that the message names.',
  },
  KND_FILE_HASH: {
    exit: 1,
    retryable: false,
    meaning: 'A file for the installed system does not have the hash it must have; it was not kept.',
    hint: 'The file at the source was changed or is damaged, also on an installer stick.',
  },
  KND_IMAGE_REFERENCE: {
    exit: 2,
    retryable: false,
    meaning: 'The name of a container image cannot be read.',
    hint: 'Write it as registry/repository:tag or registry/repository@sha256:….',
  },
  KND_KERNEL_NONE: {
    exit: 1,
    retryable: false,
    meaning: 'There is no kernel to start on the partition.',
    hint: 'Name it with KERNEL_PATH, or the right partition with BLOCK_DEVICE.',
  },
  KND_LOADER_NONE: {
    exit: 1,
    retryable: false,
    meaning: 'The EFI system partition has no boot loader that is known, or not the one that was named.',
    hint: 'Name one of those the message lists in BOOT_LOADER. If there are none, the image does not boot by UEFI.',
  },
  KND_METADATA_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'The metadata of the machine cannot be used.',
    hint: 'Correct it in the metadata service; the message names what is wrong.',
  },
  KND_MOUNT_BUSY: {
    exit: 1,
    retryable: true,
    meaning: 'A file system could not be unmounted, because something still uses it.',
    hint: 'The action is retried; a process that hangs in disk I/O needs a reboot.',
  },
  KND_MOUNT_FAILED: {
    exit: 1,
    retryable: false,
    meaning: 'A file system could not be mounted.',
    hint: 'Check FS_TYPE and the partition; the kernel’s message is part of this error.',
  },
  KND_MOVE_LOST: {
    exit: 1,
    retryable: false,
    meaning: 'A disk has its final layout, but the state partition was lost on the way.',
    hint: 'Write the image again; the workflow does that when it is started anew.',
  },
  KND_NOT_MICROVISOR: {
    exit: 2,
    retryable: false,
    meaning: 'The disk does not hold an Edge Microvisor image, so it cannot be given two slots.',
    hint: 'Use the microvisor template only with Edge Microvisor images.',
  },
  KND_FIRST_BOOT_FAILED: {
    exit: 1,
    retryable: false,
    meaning:
      'The installed system did not report its first boot, and the node came back into the Micro-OS. Its disk is left as it is.',
    hint: 'The message has the reason, “kindling node logs” the evidence. Correct image or cloud-init, then “kindling node reprovision”.',
  },
  KND_NVRAM_FULL: {
    exit: 1,
    retryable: false,
    meaning: 'The memory of the firmware has no room for another boot entry.',
    hint: 'Remove entries that nobody needs in the firmware set-up; some firmware frees the room only at the next start.',
  },
  KND_NVRAM_READ_ONLY: {
    exit: 1,
    retryable: false,
    meaning: 'The firmware does not let its boot variables be changed.',
    hint: 'Allow changes in the firmware set-up (often “lock boot order”), or set the order there.',
  },
  KND_PARTITION_LAYOUT: {
    exit: 2,
    retryable: false,
    meaning: 'Partitions that were asked for do not fit the disk or each other; nothing was written.',
    hint: 'Check the sizes; the message names the partition.',
  },
  KND_PARTITIONS_MISSING: {
    exit: 1,
    retryable: true,
    meaning: 'The partitions of a freshly written disk did not appear.',
    hint: 'Look at the kernel log; a disk whose old partitions are still in use keeps its old table until the next start.',
  },
  KND_PATH_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A path cannot be used in the target system.',
    hint: 'Correct the path in the workflow.',
  },
  KND_PLAN_STALE: {
    exit: 4,
    retryable: false,
    meaning:
      'Right before the first write, a disk was not the one the plan was made for; nothing was written.',
    hint: 'Run the action again, so that it plans for what is there now.',
  },
  KND_REGISTRY: {
    exit: 1,
    retryable: false,
    meaning: 'A container registry cannot be reached or does not give an image.',
    hint: 'Check the name, the credentials and the registry’s certificate.',
  },
  KND_REGISTRY_DIGEST: {
    exit: 1,
    retryable: true,
    meaning: 'Something from a container registry is not what its digest says.',
    hint: 'The transfer or the registry is broken, or somebody changed it: do not trust it.',
  },
  KND_ROOT_PARTITION_NONE: {
    exit: 1,
    retryable: false,
    meaning: 'The disk has no partition that looks like the root of an installed system.',
    hint: 'Name it with DEST_DISK or BLOCK_DEVICE, or label it rootfs.',
  },
  KND_SECURE_BOOT_MISMATCH: {
    exit: 4,
    retryable: false,
    meaning: 'Secure Boot is on where the profile wants it off, or off where it wants it on.',
    hint: 'Change it in the firmware set-up, or choose a profile that fits.',
  },
  KND_TPM_FAILED: {
    exit: 3,
    retryable: true,
    meaning: 'The TPM refused a command.',
    hint: 'See the message; a TPM whose owner has a password, or that is locked out, must be cleared in the firmware set-up.',
  },
  KND_TPM_KEY_LOST: {
    exit: 4,
    retryable: false,
    meaning: 'A disk was encrypted in part by an earlier run, and the TPM does not hold the key any more.',
    hint: 'Write the image again and start over; nothing was ever used on this disk.',
  },
  KND_TPM_MALFORMED: {
    exit: 1,
    retryable: false,
    meaning:
      'A structure of a TPM 2.0 (a key, a quote, a signature, the event log) is not what the specification says.',
    hint: 'The message names the structure. From a node of your own it is a defect of its firmware; update that first.',
  },
  KND_TPM_NONE: {
    exit: 3,
    retryable: false,
    meaning: 'Full disk encryption or a proof needs a TPM 2.0 and the machine shows none.',
    hint: 'Switch it on in the firmware set-up, or choose a profile without encryption (or one that asks for no proof).',
  },
  KND_UPLOAD_FAILED: {
    exit: 1,
    retryable: false,
    meaning: 'An image could not be uploaded.',
    hint: 'Look at the log of the server that should take it.',
  },

  // --- boot, identity and inventory ---
  KND_AGENT_DIED: {
    exit: 1,
    retryable: true,
    meaning: 'The agent ended although it never should; init shows its last words and starts it again.',
    hint: 'Look for an out-of-memory kill above; report the lines that follow the code if it comes back.',
  },
  KND_ARCHIVE_CHANGED: {
    exit: 4,
    retryable: false,
    meaning: 'The config archive is not as the site signed it: a file in it was changed, added or removed.',
    hint: 'Make the boot files again (kindling build site) and look at the server they come from: somebody changed them.',
  },
  KND_ARCHIVE_EXPIRED: {
    exit: 4,
    retryable: false,
    meaning: 'The site’s config archive is past its end date; nothing was done with it.',
    hint: 'If the machine’s clock is right, make the boot files again (kindling build site) or start kindling serve, which does; otherwise somebody serves old files.',
  },
  KND_ARCHIVE_FOREIGN: {
    exit: 4,
    retryable: false,
    meaning: 'The config archive was signed by another site.',
    hint: 'Check which server handed it out; after a change of keys, make the boot files again (kindling build site).',
  },
  KND_ARCHIVE_MISSING: {
    exit: 4,
    retryable: false,
    meaning: 'The kernel command line names a site’s key, but no config archive was loaded.',
    hint: 'Load config-archive.cpio after the initramfs, as the site’s boot.ipxe does.',
  },
  KND_ARCHIVE_OLD: {
    exit: 4,
    retryable: false,
    meaning:
      'The site’s config archive is older than one that this machine has started with; nothing was done with it.',
    hint: 'Somebody serves an old set of boot files, or a backup of the orchestrator was restored: make the boot files again (kindling build site).',
  },
  KND_BOOT_NOT_MICROOS: {
    exit: 4,
    retryable: false,
    meaning:
      'kindling-agent boot was called outside the Micro-OS; it would have taken over the network and the clock.',
    hint: 'Use kindling-agent run on an installed system.',
  },
  KND_CLOCK_WRONG: {
    exit: 1,
    retryable: true,
    meaning: 'The clock of the machine was wrong, or no source for the time could be found (a notice).',
    hint: 'If it comes back at every boot, replace the battery of the real-time clock; or name a time server with kindling.ntp= or DHCP option 42.',
  },
  KND_IDENTITY_JUNK: {
    exit: 1,
    retryable: false,
    meaning:
      'The firmware’s UUID or serial number is a placeholder; the node is known by the next best fact (a notice).',
    hint: 'Nothing to do; to have a better identity set the UUID and serial number in the firmware’s set-up or with the vendor’s tool.',
  },
  KND_IDENTITY_NONE: {
    exit: 3,
    retryable: true,
    meaning: 'Neither UUID nor serial number nor any MAC address tells this machine from others.',
    hint: 'Set the serial number with the vendor’s tool, or add a network card with a driver.',
  },
  KND_NET_ARGUMENT: {
    exit: 2,
    retryable: false,
    meaning:
      'A network argument of the kernel command line (ip=, vlan=, bond=, nameserver=, ipam=, …) is wrong.',
    hint: 'Correct it in the boot script; docs/reference/kernel-command-line.md has every form.',
  },
  KND_NET_NO_DHCP: {
    exit: 3,
    retryable: true,
    meaning: 'There is a link but no DHCP server answers.',
    hint: 'Check that the port is in the right VLAN and forwards at once (spanning tree: edge port), and that the DHCP server has free addresses; or give a fixed address with ip=.',
  },
  KND_NET_NO_LINK: {
    exit: 3,
    retryable: true,
    meaning: 'No network card has a link.',
    hint: 'Check the cable, the switch port and the transceiver.',
  },
  KND_NET_NO_NIC: {
    exit: 3,
    retryable: true,
    meaning: 'No network card was found.',
    hint: 'If the message names a card without a driver, add the driver or its firmware as a drop-in cpio; otherwise switch the card on in the firmware’s set-up.',
  },
  KND_NET_SETUP: {
    exit: 3,
    retryable: true,
    meaning: 'The kernel refused a network setting.',
    hint: 'The message names the setting; check the bond or VLAN on the kernel command line.',
  },
  KND_NET_UNREACHABLE: {
    exit: 3,
    retryable: true,
    meaning:
      'The network is up but the orchestrator cannot be reached through any card (a notice; the agent goes on trying).',
    hint: 'Check the address of the orchestrator, the route, and firewalls between.',
  },

  // --- agent: configuration ---
  KND_CONFIG_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A setting of the agent has a value it cannot have, or its file cannot be read.',
    hint: 'The message names the setting and what it may be; `kindling-agent config` shows where each value came from.',
  },
  KND_CONFIG_MISSING: {
    exit: 2,
    retryable: false,
    meaning: 'A setting that is needed was given nowhere.',
    hint: 'Give it on the kernel command line, in the config archive’s env_config, or as an option.',
  },
  KND_CONFIG_UNKNOWN_KEY: {
    exit: 2,
    retryable: false,
    meaning: 'The kernel command line holds a kindling.* key that does not exist: most often a misspelling.',
    hint: 'Correct the key in the boot script; docs/reference/agent-config.md lists them all.',
  },

  // --- agent: reaching a server ---
  KND_CLOCK_SKEW: {
    exit: 3,
    retryable: true,
    meaning: 'The clock of the node is so far off that the server’s certificate seems not to be valid.',
    hint: 'Set the clock in the firmware, or give the Micro-OS an NTP server (DHCP option 42); the CMOS battery may be empty.',
  },
  KND_CONNECT_DNS: {
    exit: 3,
    retryable: true,
    meaning: 'The name of a server cannot be resolved.',
    hint: 'Check the DNS server that DHCP gives, and the name in the config archive’s env_config.',
  },
  KND_CONNECT_PROXY: {
    exit: 3,
    retryable: true,
    meaning: 'The HTTP proxy does not let the node through.',
    hint: 'Check http_proxy, https_proxy and no_proxy, and the proxy’s own rules for this host and port.',
  },
  KND_CONNECT_TCP: {
    exit: 3,
    retryable: true,
    meaning: 'The server’s port cannot be reached.',
    hint: 'Check that the server runs and that no firewall is in between; a proxy may be needed (https_proxy).',
  },
  KND_CONNECT_TLS: {
    exit: 3,
    retryable: true,
    meaning: 'The TLS handshake failed before a certificate could be judged.',
    hint: 'Check that the port is the right one and that something in between does not interfere.',
  },
  KND_CONNECT_TLS_EXPIRED: {
    exit: 3,
    retryable: true,
    meaning: 'The server’s certificate has expired or is not valid yet.',
    hint: 'Renew the server’s certificate.',
  },
  KND_CONNECT_TLS_NAME: {
    exit: 3,
    retryable: true,
    meaning: 'The server’s certificate is for another name.',
    hint: 'Use the name the certificate is for, or give the server a certificate for the name in env_config.',
  },
  KND_CONNECT_TLS_UNTRUSTED: {
    exit: 3,
    retryable: true,
    meaning: 'The server’s certificate is signed by a CA the node does not trust.',
    hint: 'Put the site’s CA into the config archive (/etc/idp/ca.pem), or give the file with kindling.ca.',
  },
  KND_PERMISSION_DENIED: {
    exit: 1,
    retryable: true,
    meaning: 'The server knows who is asking and says no.',
    hint: 'Check the roles of the node’s account or of the user who signed in.',
  },
  KND_SERVER_GRPC_STATUS: {
    exit: 1,
    retryable: true,
    meaning: 'A server answered a call with an error.',
    hint: 'The message holds the server’s own words; look into its log at that time.',
  },
  KND_SERVER_HTTP_STATUS: {
    exit: 1,
    retryable: true,
    meaning: 'A server answered a request with an unexpected HTTP status.',
    hint: 'The message holds the status; look into the server’s or gateway’s log at that time.',
  },
  KND_SERVER_PROTOCOL: {
    exit: 1,
    retryable: true,
    meaning: 'The server does not speak a protocol the agent knows, or breaks its rules.',
    hint: 'Check that the address is that of the right service; kindling.dialect can force the workflow protocol.',
  },
  KND_SERVER_UNAVAILABLE: {
    exit: 1,
    retryable: true,
    meaning: 'The server can be reached but does not answer the call.',
    hint: 'It may be starting or overloaded; the agent keeps trying.',
  },
  KND_UNAUTHENTICATED: {
    exit: 1,
    retryable: true,
    meaning: 'The server does not accept the node’s token.',
    hint: 'The token may have been revoked: check that the host still exists on the server; the agent asks for a new one by itself.',
  },

  // --- agent: onboarding and credentials ---
  KND_CREDENTIALS_REFUSED: {
    exit: 1,
    retryable: true,
    meaning: 'The token server does not accept the node’s client id and secret, or the sign-in has ended.',
    hint: 'The host may have been deleted or deauthorized; register it again. The agent onboards anew by itself.',
  },
  KND_ONBOARD_ALREADY: {
    exit: 1,
    retryable: true,
    meaning:
      'The node runs its system, and was booted over the network all the same. It goes on to its disk; where no system is found there, it keeps asking.',
    hint: 'To write the disk anew: kindling node reprovision. Otherwise nothing needs to be done.',
  },
  KND_ONBOARD_CLOSED: {
    exit: 1,
    retryable: true,
    meaning: 'The onboarding server closed the stream without an answer.',
    hint: 'It may be restarting; the agent keeps trying.',
  },
  KND_ONBOARD_FAILED: {
    exit: 1,
    retryable: true,
    meaning: 'The onboarding server answered with an internal error or with something that makes no sense.',
    hint: 'Look into the onboarding server’s log; UUID and serial may belong to two different hosts.',
  },
  KND_ONBOARD_INVALID: {
    exit: 1,
    retryable: true,
    meaning: 'The onboarding server rejects the UUID, MAC address or IPv4 address that the node reports.',
    hint: 'The server’s message names the field; kindling-agent identify shows what the firmware says.',
  },
  KND_ONBOARD_NOT_FOUND: {
    exit: 1,
    retryable: true,
    meaning: 'The server does not know this node.',
    hint: 'Register its UUID or serial number on the server, or sign in at the node’s console.',
  },
  KND_ONBOARD_REFUSED: {
    exit: 1,
    retryable: true,
    meaning:
      'The server knows the node but does not let it in: nobody has said yet what is to become of it, or its registration does not match.',
    hint: 'Look at the node on the server; the agent tries again by itself.',
  },
  KND_SIGN_IN_REFUSED: {
    exit: 1,
    retryable: true,
    meaning: 'The user name or password typed at the console is wrong.',
    hint: 'Try again; after three tries the node goes back to asking the server by itself.',
  },

  // --- agent: workflows ---
  KND_ACTION_INTERRUPTED: {
    exit: 1,
    retryable: false,
    meaning: 'The agent was stopped while an action ran, and the action is not one that may be run twice.',
    hint: 'Start the workflow again, or retry from this action; the node’s log says what had been done.',
  },

  // --- image writing ---
  KND_DISK_READBACK: {
    exit: 1,
    retryable: false,
    meaning: 'What was read back from the disk is not what was written.',
    hint: 'The disk or its cable is failing: check SMART and replace it. The disk was left unbootable.',
  },
  KND_DISK_REREAD: {
    exit: 1,
    retryable: true,
    meaning: 'The kernel could not re-read the partition table of the disk that was just written.',
    hint: 'Something holds an old partition of this disk: see what uses it, then run the action again.',
  },
  KND_DISK_UNUSABLE: {
    exit: 3,
    retryable: false,
    meaning: 'The target of an image cannot be opened for writing: missing, read-only, or not a disk.',
    hint: 'Check the device name in the plan, and whether the disk is write-protected.',
  },
  KND_DISK_WRITE: {
    exit: 1,
    retryable: false,
    meaning: 'The disk reported an error while it was written.',
    hint: 'The disk is failing or was removed: check the kernel log and SMART. The disk was left unbootable.',
  },
  KND_IMAGE_CHANGED: {
    exit: 1,
    retryable: true,
    meaning: 'The image on the server changed (other ETag, length or content) while it was being downloaded.',
    hint: 'Run the action again; publish images under names that never change.',
  },
  KND_IMAGE_CONTRADICTION: {
    exit: 2,
    retryable: false,
    meaning: 'The image is not what the request says it is: format or compression differ.',
    hint: 'The message names both; correct the workflow, or the file on the server.',
  },
  KND_IMAGE_CORRUPT: {
    exit: 1,
    retryable: true,
    meaning: 'The compressed data of the image is damaged.',
    hint: 'Compare the file on the server with its published checksum.',
  },
  KND_IMAGE_END_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning:
      'The server ends its answer by closing the connection, so an image that broke off would look complete. The disk was not touched.',
    hint: 'Add SHA256 or KINDLING_LENGTH to the action, or serve the image with a Content-Length. KINDLING_ALLOW_UNKNOWN_END=true takes it as it comes.',
  },
  KND_IMAGE_EXPIRED: {
    exit: 1,
    retryable: false,
    meaning: 'The manifest of the image says that it is good no longer.',
    hint: 'Publish a newer image, or the same one with a later end (“kindling image index --expires”). Check the clock of the machine too.',
  },
  KND_IMAGE_HASH: {
    exit: 1,
    retryable: true,
    meaning: 'The image does not have the expected checksum.',
    hint: 'Check the checksum in the workflow against the file on the server. The disk was left unbootable.',
  },
  KND_IMAGE_LENGTH: {
    exit: 1,
    retryable: false,
    meaning: 'The length of the image is not the one that was announced or expected.',
    hint: 'Look at the Content-Length the server sends and at the expected length in the workflow.',
  },
  KND_IMAGE_MANIFEST: {
    exit: 1,
    retryable: false,
    meaning: 'An image manifest is malformed, or does not belong to its image.',
    hint: 'Check the image’s address in the profile. If it is right, make the manifest with “kindling image index” and publish both files together.',
  },
  KND_IMAGE_NEEDS_RANGES: {
    exit: 3,
    retryable: false,
    meaning: 'This kind of image needs a server that answers Range requests.',
    hint: 'Serve it with nginx, S3 or “kindling serve”, or publish a raw image compressed with zstd.',
  },
  KND_IMAGE_NEIGHBOURS: {
    exit: 1,
    retryable: false,
    meaning: 'The orchestrator names no neighbors; the image comes from its server alone.',
    hint: 'Switch neighbors on for the site (“kindling serve --neighbors”), or leave out KINDLING_NEIGHBOURS_URL.',
  },
  KND_IMAGE_NOT_FOUND: {
    exit: 1,
    retryable: false,
    meaning: 'No source has the image (404 or 410), and none had it when the retry window was over.',
    hint: 'Check the image’s address in the profile, or in the workflow.',
  },
  KND_IMAGE_OLD: {
    exit: 1,
    retryable: false,
    meaning: 'The image is older than the request allows.',
    hint: 'Look at what the server has: an old image may have been put back. If it is meant, lower KINDLING_MANIFEST_VERSION.',
  },
  KND_IMAGE_REDIRECT: {
    exit: 1,
    retryable: false,
    meaning: 'The server redirects in circles, too often, or from https to http.',
    hint: 'Name the final address in the workflow.',
  },
  KND_IMAGE_REFUSED: {
    exit: 1,
    retryable: false,
    meaning:
      'The server refuses the request (401, 403 or another 4xx), and still did when the retry window was over.',
    hint: 'Check the credentials and headers of the image source.',
  },
  KND_IMAGE_SECTOR_SIZE: {
    exit: 4,
    retryable: false,
    meaning: 'The image’s partition table was made for another sector size than the disk has.',
    hint: 'Use an image made for this sector size (512 or 4096), or reformat the namespace.',
  },
  KND_IMAGE_SERVER_ERROR: {
    exit: 1,
    retryable: true,
    meaning: 'The image server kept answering with 5xx.',
    hint: 'Look at the server’s log.',
  },
  KND_IMAGE_SIGNATURE: {
    exit: 4,
    retryable: false,
    meaning: 'The image or its manifest is not signed by a trusted key.',
    hint: 'Sign it with “kindling image sign”, or add the signer’s public key to the request.',
  },
  KND_IMAGE_STALLED: {
    exit: 1,
    retryable: true,
    meaning: 'The download stood still, or nearly so, for longer than the stall timeout, again and again.',
    hint: 'Check the link and the server; a slow but steady link needs no setting.',
  },
  KND_IMAGE_TLS: {
    exit: 3,
    retryable: false,
    meaning: 'The server’s certificate is not accepted.',
    hint: 'Give the site’s CA (TLS_CA_CERT), and check the node’s clock.',
  },
  KND_IMAGE_TOO_LARGE: {
    exit: 4,
    retryable: false,
    meaning: 'The image is larger than the disk.',
    hint: 'Choose a larger disk or a smaller image.',
  },
  KND_IMAGE_TRUNCATED: {
    exit: 1,
    retryable: true,
    meaning: 'The image ends too early.',
    hint: 'The file on the server is incomplete: upload it again. The disk was left unbootable.',
  },
  KND_IMAGE_UNREACHABLE: {
    exit: 1,
    retryable: true,
    meaning: 'No image source could be reached.',
    hint: 'Check name resolution, routes, proxy settings and the server.',
  },
  KND_IMAGE_UNSUPPORTED: {
    exit: 2,
    retryable: false,
    meaning: 'The image uses a feature that cannot be streamed to a disk.',
    hint: 'Convert it: qemu-img convert -O raw, then “kindling image index” or zstd.',
  },

  // --- set-up and builds ---
  KND_BUILD_FAILED: {
    exit: 1,
    retryable: false,
    meaning: 'The agent executable or the Micro-OS could not be built.',
    hint: 'The message names the step and the file; if nothing else helps, delete the build cache and try again.',
  },
  KND_BUILD_PACKAGE: {
    exit: 3,
    retryable: true,
    meaning: 'A Debian package that becomes part of the Micro-OS could not be had.',
    hint: 'Run apt-get update, check that the machine reaches its Debian mirror, then try again.',
  },
  KND_BUILD_SOURCES: {
    exit: 3,
    retryable: false,
    meaning: 'The one-file program was asked for a build that needs the repository and Debian’s compilers.',
    hint: 'Give the folder of a ready-made Micro-OS with --micro-os, or build it in the repository: npm run kindling -- build microos.',
  },
  KND_CONFIG_FILE: {
    exit: 2,
    retryable: false,
    meaning: 'The file that --config names is wrong; the message has line and column.',
    hint: 'Keys are the long names of the command’s options: kindling serve --help.',
  },
  KND_EXECUTABLE_BROKEN: {
    exit: 3,
    retryable: false,
    meaning:
      'The file kindling-agent is damaged, or the system lacks what its launcher needs (exit code 127).',
    hint: 'Compare the file or the Micro-OS with its SHA256SUMS and copy it again; the message tells if /proc is missing.',
  },
  KND_RELEASE_SIGNATURE: {
    exit: 4,
    retryable: false,
    meaning: 'The list of a release’s files is not signed by the key that was given.',
    hint: 'Do not use the files. Fetch list, signature and key again, the key from a source that you trust.',
  },
  KND_RELEASE_UNKNOWN_FILE: {
    exit: 4,
    retryable: false,
    meaning: 'The program is not one of the files of the release whose signed list was given.',
    hint: 'Check that the list is of the same version; if it is, the file was changed: install it again.',
  },
  KND_SETUP_FAILED: {
    exit: 3,
    retryable: false,
    meaning: 'The machine could not be prepared.',
    hint: 'The message names the package or program that is missing and how to get it.',
  },
  KND_TOOL_MISSING: {
    exit: 3,
    retryable: false,
    meaning: 'A program that is needed is not installed.',
    hint: 'Install the package that the message names.',
  },

  // --- network boot ---
  KND_DHCP_MALFORMED: {
    exit: 1,
    retryable: false,
    meaning: 'Bytes that came in on the DHCP port are not a DHCP packet. They were dropped.',
    hint: 'Nothing to do, unless a machine of yours does not boot: then look at what sends them.',
  },
  KND_IPXE_LOAD_FAILED: {
    exit: 1,
    retryable: true,
    meaning:
      'boot.ipxe could not load kernel, loader, initramfs or config archive. It tries again, for ever.',
    hint: 'The line above on the console names the file; check that its server is up and reachable from the machine.',
  },
  KND_IPXE_NO_NETWORK: {
    exit: 1,
    retryable: true,
    meaning: 'iPXE found no network card that leads to the site. It tries again, for ever.',
    hint: 'Check cable, DHCP and the address in the line; kindling pxe doctor shows who answers.',
  },
  KND_IPXE_REFUSED: {
    exit: 4,
    retryable: true,
    meaning:
      'What iPXE loaded was not started: the firmware or the site’s loader refused it (Secure Boot, hashes). The machine reboots.',
    hint: 'The lines above on the console say what was refused and why.',
  },
  KND_IPXE_SOURCE: {
    exit: 2,
    retryable: false,
    meaning: 'kindling build ipxe was given a folder that is no iPXE source tree.',
    hint: 'Give --source the folder of a checkout of iPXE. Without one, kindling build site takes Debian’s iPXE.',
  },
  KND_IPXE_UNAVAILABLE: {
    exit: 3,
    retryable: true,
    meaning: 'The iPXE binaries could not be had from Debian, or are not the ones that were pinned.',
    hint: 'Check that this machine reaches its Debian mirror (apt-get update).',
  },
  KND_LOADER_IGNORED: {
    exit: 4,
    retryable: false,
    meaning:
      'The boot script asks for a kernel argument that the site has not signed. The loader started the kernel without it.',
    hint: 'For an argument of your own: kindling build site --kernel-arg. Otherwise somebody changed boot.ipxe.',
  },
  KND_LOADER_KERNEL: {
    exit: 4,
    retryable: false,
    meaning: 'The kernel inside the site’s loader is damaged, or there is no memory for it.',
    hint: 'Give the machine more memory, or make the boot files again (kindling build site).',
  },
  KND_LOADER_REFUSED: {
    exit: 4,
    retryable: false,
    meaning:
      'Initramfs or config archive are not the ones the site’s loader was signed for; nothing was started.',
    hint: 'Publish the files of one build together; if they are, somebody changed them on the way or on their server.',
  },
  KND_MIRROR_REFUSED: {
    exit: 4,
    retryable: true,
    meaning:
      'Boot files of the orchestrator are not signed by the site’s key, are not those of the signed list, or are older than those the mirror has had.',
    hint: 'Check the address and --key; if they are right, somebody changed the files. The mirror goes on with those it has.',
  },
  KND_MIRROR_UNREACHABLE: {
    exit: 1,
    retryable: true,
    meaning: 'The orchestrator’s boot files could not be fetched.',
    hint: 'Nothing to do if it comes back: the mirror goes on with the files it has and looks again.',
  },
  KND_PXE_NO_INTERFACE: {
    exit: 3,
    retryable: false,
    meaning: 'The network interface to serve on does not exist or has no IPv4 address.',
    hint: 'The message lists the interfaces of this machine; name one of them.',
  },
  KND_PXE_PORT_TAKEN: {
    exit: 3,
    retryable: false,
    meaning: 'Another program already listens on a DHCP, TFTP or HTTP port.',
    hint: 'Stop the other server (often dnsmasq or tftpd), or choose another port or mode.',
  },
  KND_TFTP_MALFORMED: {
    exit: 1,
    retryable: false,
    meaning:
      'Bytes that came in on the TFTP port are not a TFTP packet. They were answered with an error and dropped.',
    hint: 'Nothing to do, unless a machine of yours does not boot: then look at what sends them.',
  },

  // --- the orchestrator stub ---
  KND_API_BUSY: {
    exit: 1,
    retryable: true,
    meaning: 'The caller, or all callers together, asked for more than the server gives at once.',
    hint: 'Wait a little and try again. Where it goes on, look at what the address of the caller sends.',
  },
  KND_API_FORBIDDEN: {
    exit: 1,
    retryable: false,
    meaning: 'The token is valid but does not allow this call.',
    hint: 'Use the token of a person whose role allows it (docs/reference/roles.md), or of the node that is concerned.',
  },
  KND_API_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'The stub’s HTTP API was called with a body, query or path that its schema refuses.',
    hint: 'The evidence lists every field that is wrong; /api/v1/openapi.json has the schema.',
  },
  KND_API_METHOD: {
    exit: 2,
    retryable: false,
    meaning: 'The address exists, but not for this HTTP method.',
    hint: 'The Allow header names the methods.',
  },
  KND_API_NOT_FOUND: {
    exit: 2,
    retryable: false,
    meaning: 'The stub has nothing at this address.',
    hint: '/api/v1/openapi.json lists every address of the API.',
  },
  KND_API_TOO_LARGE: {
    exit: 2,
    retryable: false,
    meaning: 'The body of a request is larger than the stub accepts.',
    hint: 'Send less at once.',
  },
  KND_API_UNAUTHENTICATED: {
    exit: 1,
    retryable: false,
    meaning: 'The call carries no token, or one that is not valid (any more).',
    hint: 'Send "Authorization: Bearer …" with a token of your own (kindling token create), the one in the state folder (operator-token), or a fresh access token.',
  },
  KND_AUDIT_BROKEN: {
    exit: 4,
    retryable: false,
    meaning: 'A line of the audit log is missing, or is not as it was written.',
    hint: 'Somebody wrote into the database behind the orchestrator. Keep a copy of the state folder, and compare with an earlier export (kindling audit --json).',
  },
  KND_BILL_DIFFERS: {
    exit: 4,
    retryable: false,
    meaning: 'The machine is not made of what its profile asks for. Nothing was written to it.',
    hint: 'Put the right parts in and start it again, or take it as it is with "kindling bom accept".',
  },
  KND_CONSOLE_MISSING: {
    exit: 3,
    retryable: false,
    meaning: 'The page for browsers was not built.',
    hint: 'Run `node setup/generate.ts` in the folder of Kindling; the npm commands do it by themselves.',
  },
  KND_CSV_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A file for bulk registration has rows that cannot be registered.',
    hint: 'Each bad row is listed with its reason; correct them, nothing was imported.',
  },
  KND_DEVICE_CODE: {
    exit: 2,
    retryable: false,
    meaning: 'No program waits to be signed in with this code, or nobody approved it within ten minutes.',
    hint: 'Run "kindling sign-in" again, and type the code that it shows.',
  },
  KND_HARDWARE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A Hardware object of Tinkerbell has a value of the wrong type.',
    hint: 'The message names the field.',
  },
  KND_IMPORT_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A file is not a whole export of a site’s state, or of another version. Nothing was changed.',
    hint: 'Make it again with "kindling state export".',
  },
  KND_IMPORT_STATE: {
    exit: 1,
    retryable: false,
    meaning: 'An import of machines is not at the point where this can be done with it.',
    hint: 'kindling node import sends the list again; single nodes can be corrected or deleted.',
  },
  KND_IMPORT_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning: 'There is no import with this id; the last hundred are kept.',
    hint: 'Send the list again.',
  },
  KND_IMPORT_NOT_EMPTY: {
    exit: 4,
    retryable: false,
    meaning:
      'State is imported into an empty database only, and this one has something. Nothing was changed.',
    hint: 'Import into a fresh database, schema or state folder, before an orchestrator has started with it.',
  },
  KND_NODE_CONFLICT: {
    exit: 1,
    retryable: false,
    meaning: 'Another node is already registered with this UUID, serial or MAC.',
    hint: 'Look it up with “kindling node show”, correct or delete it.',
  },
  KND_NODE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'The details of a node cannot be used.',
    hint: 'The message names the field.',
  },
  KND_NODE_LIMIT: {
    exit: 1,
    retryable: true,
    meaning: 'The site remembers as many machines as it may that nobody registered.',
    hint: 'Register the machines you know, delete those you do not (“kindling node list”), or raise maxUnknownMachines of the site.',
  },
  KND_NODE_NEEDS_HAND: {
    exit: 1,
    retryable: true,
    meaning: 'A node that was waited for stands still until somebody does something.',
    hint: 'The message has the reason of each; "kindling node list --group needs-hand" shows them.',
  },
  KND_NODE_SECOND_MACHINE: {
    exit: 4,
    retryable: false,
    meaning:
      'A machine with another key says that it is a node that was let in before. While that one is there, it gets nothing.',
    hint: 'If the node was rebooted or has a new mainboard, all is well: kindling node reprovision lets it in with a new key. Otherwise somebody on the network pretends to be it.',
  },
  KND_NODE_STATE: {
    exit: 1,
    retryable: false,
    meaning: 'The node is not in a state that allows this.',
    hint: '“kindling node show” tells its state and what it waits for.',
  },
  KND_NODE_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning: 'No node has this id, name, UUID, serial or MAC.',
    hint: '“kindling node list” shows every node.',
  },
  KND_PERSON_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A person cannot have this name, or is the owner of the state folder, whom nobody changes.',
    hint: 'Choose another name: small letters, digits, and . _ @ + - after the first.',
  },
  KND_PERSON_UNKNOWN: {
    exit: 2,
    retryable: false,
    meaning: 'The site knows nobody of this name.',
    hint: '"kindling user list" shows everybody; "kindling user add" adds somebody.',
  },
  KND_PROFILE_IN_USE: {
    exit: 4,
    retryable: false,
    meaning: 'A profile cannot be removed while nodes have it.',
    hint: 'Give these nodes another profile first, or remove it all the same with --force.',
  },
  KND_PROFILE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A profile cannot be used.',
    hint: 'The message names the field.',
  },
  KND_PROFILE_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning: 'There is no profile of this name.',
    hint: '“kindling profile list” shows every profile.',
  },
  KND_PROOF_ANSWER: {
    exit: 4,
    retryable: false,
    meaning:
      'A machine did not open the challenge that was made for its TPM: the keys it shows are not in one TPM.',
    hint: 'It gets no credentials. If it is a machine of yours, update its firmware; if not, find it by the address in the log.',
  },
  KND_PROOF_CODE: {
    exit: 2,
    retryable: false,
    meaning: 'No machine waits for approval with this code.',
    hint: 'Type the code that the console of the machine shows now; after a restart of the orchestrator it is another one.',
  },
  KND_PROOF_KEY: {
    exit: 4,
    retryable: false,
    meaning: 'A machine shows a key that its TPM does not keep to itself.',
    hint: 'It gets no credentials. The message says which property is missing; no TPM makes such a key for our agent.',
  },
  KND_PROOF_LOG: {
    exit: 4,
    retryable: false,
    meaning: 'The event log of a machine is not what its TPM has measured.',
    hint: 'The message names the first event that differs. Update the firmware, or look for who changed the log.',
  },
  KND_PROOF_NO_TPM: {
    exit: 4,
    retryable: false,
    meaning: 'A machine that must prove itself has no TPM 2.0 that answers.',
    hint: 'Switch the TPM on in the firmware set-up, or let this one in unproven: kindling node correct NODE --proof off.',
  },
  KND_PROOF_QUOTE: {
    exit: 4,
    retryable: false,
    meaning: 'The quote of a machine is not a fresh one by the key it shows.',
    hint: 'It gets no credentials. Somebody may be repeating what another machine said.',
  },
  KND_PROOF_REQUIRED: {
    exit: 4,
    retryable: false,
    meaning: 'A machine that must prove itself by its TPM has not done so.',
    hint: 'Boot it with an agent that can (Kindling’s), or let it in unproven: kindling node correct NODE --proof off.',
  },
  KND_PROOF_SECOND_TPM: {
    exit: 4,
    retryable: false,
    meaning:
      'A machine says it is a node, and proves to be another machine: its TPM is not the one the node is known by.',
    hint: 'Look at the machine. After a new mainboard, forget the old TPM: kindling node correct NODE --ek-hash none.',
  },
  KND_PROOF_UNTRUSTED: {
    exit: 4,
    retryable: false,
    meaning: 'A machine has proven which TPM it has, and the site has no reason to trust that one.',
    hint: 'Register its hash (kindling node correct NODE --ek-hash HASH), or give the CA of its maker in the folder ek-ca of the state folder.',
  },
  KND_RECORD_INVALID: {
    exit: 4,
    retryable: false,
    meaning: 'A shipping record or a batch is not as the site signed it, or another key signed it.',
    hint: 'The message says what differs. Get the file again from the site, and its key from "kindling record keys" there.',
  },
  KND_RULE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A pattern of an enrollment rule cannot be read.',
    hint: 'Patterns are JSON objects whose leaves are lists: {"product":{"vendor":["Dell Inc."]}}.',
  },
  KND_SITE_FILE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A file for "kindling apply" cannot be used.',
    hint: 'The message names the file, the object and the field; "kindling export" prints objects as they should be.',
  },
  KND_SEAL_KEY: {
    exit: 3,
    retryable: false,
    meaning:
      'The key that seals secrets in the database is missing, is not a key, or is not the one they were sealed with.',
    hint: 'Bring back the key file: state-key of the state folder, the file of --state-key, or the systemd credential. Without it nobody can read recovery keys and client secrets.',
  },
  KND_SEAL_VALUE: {
    exit: 3,
    retryable: false,
    meaning:
      'A secret in the database is not as the orchestrator sealed it: it was changed, or moved from another row.',
    hint: 'Find out who can write to the database, and bring back a backup from before.',
  },
  KND_STATE_BEHIND: {
    exit: 3,
    retryable: false,
    meaning:
      'This orchestrator was cut off from its database for so long that it cannot catch up with the others, or the database was replaced. It takes no change and gives no work.',
    hint: 'Start it again: it reads everything anew.',
  },
  KND_STATE_CONFLICT: {
    exit: 3,
    retryable: true,
    meaning:
      'Another program changes the same rows of the orchestrator’s database again and again. Nothing was changed.',
    hint: 'Find it in pg_stat_activity and let it end. Agents ask again.',
  },
  KND_STATE_CONNECTION: {
    exit: 3,
    retryable: true,
    meaning:
      'The orchestrator’s database does not answer, or the connection to it was lost. Changes are refused; what was acknowledged is safe.',
    hint: 'See that the PostgreSQL server runs and that the address in --database leads to it. The orchestrator connects again by itself, and agents ask again until then.',
  },
  KND_STATE_DAMAGED: {
    exit: 3,
    retryable: false,
    meaning: 'The orchestrator’s database is damaged: what was read is not what was written.',
    hint: 'Stop the orchestrator, check the disk, and put a backup of the state folder in place.',
  },
  KND_STATE_FULL: {
    exit: 3,
    retryable: true,
    meaning:
      'There is no room on the disk of the orchestrator’s state folder. Changes are refused; what was acknowledged is safe.',
    hint: 'Make room on that disk. The orchestrator goes on by itself, and agents ask again until then.',
  },
  KND_STATE_IN_USE: {
    exit: 3,
    retryable: false,
    meaning: 'Other programs use this database, and this one needs it alone, or they are of another version.',
    hint: 'To export or import the state, or to start a newer version: stop every orchestrator on this database first.',
  },
  KND_STATE_IO: {
    exit: 3,
    retryable: true,
    meaning: 'The disk of the orchestrator’s state folder fails.',
    hint: 'Read the kernel’s log (dmesg) for that disk. The orchestrator goes on by itself once the disk does; if its file system has to be mounted again, start it again after that.',
  },
  KND_STATE_LOCKED: {
    exit: 3,
    retryable: true,
    meaning: 'Another program holds a lock on the orchestrator’s database.',
    hint: 'Find it with "fuser -v" on kindling.sqlite and let it end. The orchestrator goes on by itself.',
  },
  KND_STATE_READ_ONLY: {
    exit: 3,
    retryable: true,
    meaning: 'The orchestrator’s state folder is read-only.',
    hint: 'Read in the kernel’s log (dmesg) why, and mount its file system for writing again. If that needs an unmount, start the orchestrator again after it.',
  },
  KND_STATE_REFUSED: {
    exit: 3,
    retryable: false,
    meaning: 'The database server refuses the orchestrator, or cannot be used by it.',
    hint: 'The message has the server’s reason: correct the role, its password, the database’s name, the certificate or the permission.',
  },
  KND_STUB_LISTEN: {
    exit: 3,
    retryable: false,
    meaning: 'The stub cannot listen on its port.',
    hint: 'Choose another with --port, or stop what holds it.',
  },
  KND_STUB_STATE: {
    exit: 3,
    retryable: false,
    meaning: 'The stub’s state folder cannot be used.',
    hint: 'Give another with --state, or correct its owner and mode.',
  },
  KND_STUB_UNREACHABLE: {
    exit: 3,
    retryable: true,
    meaning: 'The stub does not answer.',
    hint: 'Start it with “kindling serve”, or name another with --server.',
  },
  KND_TEMPLATE_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A workflow template is not valid, or does not render with the values given.',
    hint: 'The message names the line.',
  },
  KND_TEMPLATE_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning: 'There is no workflow template of this name.',
    hint: '“kindling workflow templates” shows every template.',
  },
  KND_TOKEN_UNKNOWN: {
    exit: 2,
    retryable: false,
    meaning: 'There is no token with this id, it has ended, or it belongs to somebody else.',
    hint: '"kindling token list" shows the ids.',
  },
  KND_WORKFLOW_STATE: {
    exit: 1,
    retryable: false,
    meaning: 'The workflow is not in a state that allows this.',
    hint: '“kindling workflow show” tells its state.',
  },
  KND_WORKFLOW_UNKNOWN: {
    exit: 1,
    retryable: false,
    meaning: 'There is no workflow of this id.',
    hint: '“kindling workflow list” shows every workflow.',
  },

  // --- virtual machines ---
  KND_VM_ENDED: {
    exit: 1,
    retryable: false,
    meaning: 'A virtual machine (QEMU) did not start, or ended before what was waited for happened.',
    hint: 'Read the last console lines and QEMU’s own message, which are part of this error.',
  },

  // --- standalone installer ---
  KND_STANDALONE_CONFIG_INVALID: {
    exit: 2,
    retryable: false,
    meaning: 'A standalone config file breaks a rule.',
    hint: 'Correct what is printed with its line and column; docs/reference/standalone-config.md explains each code.',
  },
  KND_STICK_IMAGE: {
    exit: 2,
    retryable: false,
    meaning:
      'The operating system image or an artifact for a stick is missing, or is not the one that was meant.',
    hint: 'Check image.file, image.sha256 and image.artifacts in the config file.',
  },
  KND_STICK_INVALID: {
    exit: 1,
    retryable: false,
    meaning: 'The payload of an installer stick cannot be read.',
    hint: 'Write the stick again with the same version of Kindling.',
  },
  KND_STICK_LOST: {
    exit: 3,
    retryable: true,
    meaning:
      'An installer stick could no longer be read during the installation. Nothing on the disk starts.',
    hint: 'Put the stick back in, directly into the machine; it goes on by itself. If it was not pulled out, write another one.',
  },
  KND_STICK_MACHINE_REFUSED: {
    exit: 4,
    retryable: false,
    meaning: 'The stick’s configuration says that nothing is installed on this machine.',
    hint: 'Take the stick out, or change the entry of this machine in nodes and write the stick again.',
  },
  KND_STICK_NOT_FOUND: {
    exit: 3,
    retryable: true,
    meaning: 'The machine was started from an installer stick that is no longer there.',
    hint: 'Put the stick back in, directly into the machine, and start again.',
  },
  KND_STICK_SIGNATURE: {
    exit: 4,
    retryable: false,
    meaning: 'The contents of an installer stick are not signed by the key it was made with.',
    hint: 'Do not use this stick; write it again.',
  },
  KND_STICK_TARGET_REFUSED: {
    exit: 4,
    retryable: false,
    meaning: 'A stick is not written to this device: it is no stick, is in use, or is too small.',
    hint: 'Give the whole device of a removable medium that is not mounted, or the name of an image file.',
  },
  KND_STICK_VERIFY: {
    exit: 1,
    retryable: false,
    meaning: 'What was written to a stick does not read back.',
    hint: 'The stick is worn out or smaller than it says. Take another one.',
  },
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;
