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

  // --- actions ---
  KND_ACTION_CANCELLED: {
    exit: 1,
    retryable: true,
    meaning: 'An action was cancelled.',
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
  KND_CONSENT_REQUIRED: {
    exit: 4,
    retryable: false,
    meaning: 'A site wants to be asked before a disk is destroyed, and nobody has approved this plan.',
    hint: 'Approve the plan in the orchestrator, which runs the action again with KINDLING_CONSENT set to its hash.',
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
  KND_ENCRYPTION_UNSUPPORTED: {
    exit: 4,
    retryable: false,
    meaning:
      'Full disk encryption was asked for, which this version of Kindling does not do; nothing was touched.',
    hint: 'Choose a profile without it, or set ENABLE_ONLY_DMVERITY to true.',
  },
  KND_ERASE_INCOMPLETE: {
    exit: 1,
    retryable: false,
    meaning: 'A disk was erased, but something of what was on it can still be found.',
    hint: 'Take another ERASE_METHOD; if none helps, the disk has to be destroyed.',
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
