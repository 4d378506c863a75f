import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SigningKey } from '../initrd/micro-os/sign-efi.ts';
import { readIfThere } from '../system/read-if-there.ts';
import { writePrivate } from './state-folder.ts';

/** For each file: of what it was made, and what it was when it was made. */
type Notes = Record<string, { of: string; is: string }>;

/** What a signature is made of. */
interface SigningInputs {
  bytes: Buffer;
  signers: readonly SigningKey[];
}

/**
 * Signatures hold the time they were made, so signing again gives other bytes, which mirrors and caches would all fetch
 * again. What lies published already, made of the same bytes with the same keys and not changed since, is taken as it is.
 */
export class SignOnce {
  readonly #published: string;
  readonly #notesFile: string;
  readonly #before: Notes;
  readonly #notes: Notes = {};

  constructor(publishedFolder: string, notesFile: string) {
    this.#published = publishedFolder;
    this.#notesFile = notesFile;
    this.#before = readNotes(notesFile);
  }

  /** `name` is the file's path in the published folder. */
  async sign(name: string, { bytes, signers }: SigningInputs, make: () => Promise<Buffer>): Promise<Buffer> {
    const certificates = signers.map(({ certificate }) => hashOf(readFileSync(certificate)));
    const of = hashOf(Buffer.from([hashOf(bytes), ...certificates].join(' ')));
    const signed = (this.#before[name]?.of === of ? this.published(name) : undefined) ?? (await make());
    this.#notes[name] = { of, is: hashOf(signed) };
    return signed;
  }

  /** The file that lies published, if it is one that was signed here and not changed since. */
  published(name: string): Buffer | undefined {
    const kept = this.#before[name] && readBytes(join(this.#published, name));
    return kept && hashOf(kept) === this.#before[name]?.is ? kept : undefined;
  }

  /** To be called when everything is published. */
  save(): void {
    writePrivate(this.#notesFile, `${JSON.stringify(this.#notes, null, 2)}\n`);
  }
}

function readNotes(file: string): Notes {
  try {
    return JSON.parse(readIfThere(file) ?? '{}') as Notes;
  } catch {
    return {};
  }
}

function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
