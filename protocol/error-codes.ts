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

  // --- set-up and builds ---
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
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;
