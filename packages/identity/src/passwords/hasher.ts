import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Problem } from '@gatehouse/kit'
import { type Argon2Cost, argon2idPrefix, formatArgon2id, hashWithArgon2 } from './formats/argon2.ts'
import type { StoredHash } from './formats/format.ts'
import { parseHash } from './formats/index.ts'
import { maxPasswordLength } from './rule.ts'

/** The options of passwords. */
export interface PasswordOptions {
  /** The minimum length of a password. Default: 15 (NIST SP 800-63B-4 §3.1.1.2, a password as the only factor). */
  readonly minLength?: number
  /** What a hash costs whoever computes it: the memory of argon2id in KiB. Default: 19,456 (19 MiB). */
  readonly memoryKiB?: number
  /** The same: the passes of argon2id over that memory. Default: 2. */
  readonly passes?: number
  /** The number of concurrent hashes; they share the thread pool with signing. */
  readonly maxConcurrent?: number
  /** The length of the queue; a sign-in beyond it is rejected with 503. */
  readonly maxWaiting?: number
}

/** The default cost, OWASP's first choice for argon2id with one lane: 19 MiB and two passes. */
export const defaultHashCost = { memoryKiB: 19_456, passes: 2 } as const

/** The default number of concurrent hashes: one processor is left for everything else. */
export const defaultHashesAtOnce: number = Math.max(1, Math.min(2, availableParallelism() - 1))
/** The default length of the queue: some seconds of work. */
export const defaultHashesWaiting = 64

const saltBytes = 16
const hashBytes = 32

/** The queue of password hashes is full: 503. */
export class PasswordQueueFull extends Problem {
  constructor() {
    super(503, 'Too many passwords are being verified; try again in a few seconds.', {
      headers: { 'retry-after': '5' },
    })
  }
}

/**
 * Hashes passwords (argon2id, RFC 9106), and verifies them by a hash of any scheme that `formats/` knows, off the main
 * thread, a few at a time, with a bounded queue.
 */
export class PasswordHasher {
  readonly #cost: Argon2Cost
  readonly #maxConcurrent: number
  readonly #maxWaiting: number
  #working = 0
  readonly #waiting: (() => void)[] = []
  /** Costs what one of our own costs, and matches nothing. */
  readonly #dummyHash: StoredHash = {
    matches: async (password) => {
      await this.#derive(password, randomBytes(saltBytes))
      return false
    },
  }

  constructor(options: PasswordOptions = {}) {
    const { memoryKiB = defaultHashCost.memoryKiB, passes = defaultHashCost.passes } = options
    this.#cost = { memoryKiB, passes, parallelism: 1 }
    this.#maxConcurrent = options.maxConcurrent ?? defaultHashesAtOnce
    this.#maxWaiting = options.maxWaiting ?? defaultHashesWaiting
  }

  /** The number of hashes in progress and waiting. */
  get depth(): number {
    return this.#working + this.#waiting.length
  }

  /** Hashes a new password into a PHC string. @throws PasswordQueueFull */
  hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes)
    return this.#inSlot(async () => formatArgon2id(this.#cost, salt, await this.#derive(normalize(password), salt)))
  }

  /**
   * Whether the password matches the `stored` hash. Without a hash that can be compared it takes as long and is false, so
   * that an unknown user looks like a wrong password. A password longer than any that could be set is not compared.
   * @throws PasswordQueueFull
   */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    if (password.length > maxPasswordLength) return this.verify('', undefined)
    const parsed = parseHash(stored ?? '')
    const hash = 'fault' in parsed ? this.#dummyHash : parsed.hash
    // Our own hashes are of the normalized password; others may be of the bytes as they were typed.
    const normalized = normalize(password)
    const typed = Buffer.from(password)
    return this.#inSlot(
      async () => (await hash.matches(normalized)) || (!typed.equals(normalized) && (await hash.matches(typed))),
    )
  }

  /** Whether a hash is to be replaced by one of our own once its password is known: it was made elsewhere, or at another cost. */
  isOutdated(stored: string): boolean {
    return !stored.startsWith(argon2idPrefix(this.#cost))
  }

  #derive(password: Buffer, salt: Buffer): Promise<Buffer> {
    return hashWithArgon2('argon2id', password, { salt, cost: this.#cost, bytes: hashBytes })
  }

  async #inSlot<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#acquireSlot()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#working--
    }
  }

  async #acquireSlot(): Promise<void> {
    if (this.#working < this.#maxConcurrent) {
      this.#working++
      return
    }
    if (this.#waiting.length >= this.#maxWaiting) throw new PasswordQueueFull()
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}

function normalize(password: string): Buffer {
  return Buffer.from(password.normalize('NFC'))
}
