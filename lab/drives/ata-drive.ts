import { SparseMemory } from './sparse-memory.ts';

/** ATA/ATAPI Command Set 3: commands of the security feature set, and the one that says what a drive is. */
const AtaCommand = {
  identify: 0xec,
  setPassword: 0xf1,
  unlock: 0xf2,
  erasePrepare: 0xf3,
  eraseUnit: 0xf4,
  freezeLock: 0xf5,
  disablePassword: 0xf6,
} as const;

/** What became of a command: data for the host, or the status and error registers. */
export type AtaOutcome = { data?: Buffer } | 'aborted';

const ATTEMPTS = 5;

/**
 * A SATA disk with the security feature set (ACS-3, section 4.18): no password, then one, then locked after a power cycle; frozen by a firmware
 * that means well; five attempts.
 */
export class AtaDrive {
  readonly serial: string;
  readonly memory: SparseMemory;
  readonly hasEnhancedErase: boolean;
  isFrozen = false;
  /** An erase ends at once: well, with an error, or saying that it is done when nothing was. `held`: when `finishErase` says so. */
  eraseEnds: 'well' | 'failed' | 'lying' | 'held' = 'well';
  /** Every erase that was carried out, by its kind. */
  readonly erasures: ('normal' | 'enhanced')[] = [];
  #password: string | undefined;
  #isLocked = false;
  #attemptsLeft = ATTEMPTS;
  #isPrepared = false;
  #held: (() => void) | undefined;

  constructor(spec: { serial: string; sizeBytes: number; hasEnhancedErase?: boolean; password?: string }) {
    this.serial = spec.serial;
    this.memory = new SparseMemory(spec.sizeBytes);
    this.hasEnhancedErase = spec.hasEnhancedErase ?? false;
    this.#password = spec.password;
    this.powerCycle();
  }

  get hasPassword(): boolean {
    return this.#password !== undefined;
  }

  get isLocked(): boolean {
    return this.#isLocked;
  }

  get attemptsLeft(): number {
    return this.#attemptsLeft;
  }

  get isErasing(): boolean {
    return this.#held !== undefined;
  }

  powerCycle(): void {
    this.#isLocked = this.hasPassword;
    this.#attemptsLeft = ATTEMPTS;
    this.#isPrepared = false;
    this.isFrozen = false;
  }

  finishErase(): void {
    this.#held?.();
    this.#held = undefined;
  }

  async execute(command: number, data: Buffer): Promise<AtaOutcome> {
    const wasPrepared = this.#isPrepared;
    this.#isPrepared = command === AtaCommand.erasePrepare;
    if (command === AtaCommand.identify) return { data: this.#identify() };
    if (this.isFrozen && command !== AtaCommand.freezeLock) return 'aborted';
    switch (command) {
      case AtaCommand.setPassword:
        return this.#setPassword(data);
      case AtaCommand.unlock:
        return this.#unlock(data);
      case AtaCommand.disablePassword:
        return this.#disablePassword(data);
      case AtaCommand.freezeLock:
        if (!this.#isLocked) this.isFrozen = true;
        return this.#isLocked ? 'aborted' : {};
      case AtaCommand.erasePrepare:
        return {};
      case AtaCommand.eraseUnit:
        return wasPrepared ? await this.#erase(data) : 'aborted';
      default:
        return 'aborted';
    }
  }

  #setPassword(data: Buffer): AtaOutcome {
    if (this.#isLocked) return 'aborted';
    if (!isMaster(data)) this.#password = passwordIn(data);
    return {};
  }

  #unlock(data: Buffer): AtaOutcome {
    if (this.#attemptsLeft === 0) return 'aborted';
    if (this.#isRight(data)) {
      this.#isLocked = false;
      return {};
    }
    this.#attemptsLeft--;
    return 'aborted';
  }

  #disablePassword(data: Buffer): AtaOutcome {
    if (this.#isLocked || !this.#isRight(data)) return 'aborted';
    this.#password = undefined;
    return {};
  }

  async #erase(data: Buffer): Promise<AtaOutcome> {
    const isEnhanced = (data.readUInt16LE(0) & 2) !== 0;
    if (!this.#isRight(data) || (isEnhanced && !this.hasEnhancedErase)) return 'aborted';
    if (this.eraseEnds === 'held') {
      await new Promise<void>((resolve) => {
        this.#held = resolve;
      });
    }
    if (this.eraseEnds === 'failed') return 'aborted';
    this.erasures.push(isEnhanced ? 'enhanced' : 'normal');
    if (this.eraseEnds !== 'lying') this.memory.zero();
    this.#password = undefined;
    this.#isLocked = false;
    return {};
  }

  /** Only the user's: the drive comes with a master password that nobody knows. */
  #isRight(data: Buffer): boolean {
    return !isMaster(data) && this.#password === passwordIn(data);
  }

  /** IDENTIFY DEVICE, in words of 16 bits. */
  #identify(): Buffer {
    const data = Buffer.alloc(512);
    const word = (index: number, value: number) => data.writeUInt16LE(value, index * 2);
    const text = (from: number, words: number, value: string) =>
      Buffer.from(value.padEnd(words * 2), 'ascii')
        .swap16()
        .copy(data, from * 2);
    const sectors = this.memory.sizeBytes / 512;
    word(0, 0x0040);
    text(10, 10, this.serial);
    text(23, 4, '1');
    text(27, 20, 'Kindling lab disk');
    word(49, 0x0200); // LBA
    word(53, 0x0006);
    data.writeUInt32LE(sectors, 60 * 2);
    word(80, 0x01f0); // ATA-4 to ACS
    word(82, 0x0002); // security feature set, supported
    word(83, 0x4000);
    word(84, 0x4000);
    word(85, this.hasPassword ? 0x0002 : 0);
    word(87, 0x4000);
    word(89, 1); // two minutes
    word(90, this.hasEnhancedErase ? 1 : 0);
    word(92, 0xfffe);
    data.writeBigUInt64LE(BigInt(sectors), 100 * 2);
    word(128, this.#securityStatus());
    return data;
  }

  #securityStatus(): number {
    const flags = [
      true,
      this.hasPassword,
      this.#isLocked,
      this.isFrozen,
      this.#attemptsLeft === 0,
      this.hasEnhancedErase,
    ];
    return flags.reduce((sum, flag, bit) => sum | (flag ? 1 << bit : 0), 0);
  }
}

const isMaster = (data: Buffer) => (data.readUInt16LE(0) & 1) !== 0;
const passwordIn = (data: Buffer) => data.toString('latin1', 2, 34).replace(/\0+$/, '');
