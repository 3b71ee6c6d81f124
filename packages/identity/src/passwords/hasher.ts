import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { Problem } from '@gatehouse/kit'
import { maxPasswordLength } from './rule.ts'

/** The options of passwords. */
export interface PasswordOptions {
  /** The minimum length of a password. Default: 15 (NIST SP 800-63B-4 §3.1.1.2, a password as the only factor). */
  readonly minLength?: number
  /** The number of concurrent hashes; they share the thread pool with signing. */
  readonly maxConcurrent?: number
  /** The length of the queue; a sign-in beyond it is rejected with 503. */
  readonly maxWaiting?: number
}

interface Cost {
  readonly memoryKiB: number
  readonly passes: number
  readonly parallelism: number
}

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const passwordCost: Cost = { memoryKiB: 19_456, passes: 2, parallelism: 1 }

/** The default number of concurrent hashes: one processor is left for everything else. */
export const defaultHashesAtOnce: number = Math.max(1, Math.min(2, availableParallelism() - 1))
/** The default length of the queue: some seconds of work. */
export const defaultHashesWaiting = 64

const saltBytes = 16
const hashBytes = 32
const hash = promisify(argon2)
const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** The queue of password hashes is full: 503. */
export class PasswordQueueFull extends Problem {
  constructor() {
    super(503, 'Too many passwords are being verified; try again in a few seconds.', {
      headers: { 'retry-after': '5' },
    })
  }
}

/** Hashes and verifies passwords (argon2id, RFC 9106) off the main thread, a few at a time, with a bounded queue. */
export class PasswordHasher {
  readonly #maxConcurrent: number
  readonly #maxWaiting: number
  #working = 0
  readonly #waiting: (() => void)[] = []
  /** A hash without a password. */
  readonly #dummyHash = formatPhc(randomBytes(saltBytes), randomBytes(hashBytes))

  constructor(options: PasswordOptions = {}) {
    this.#maxConcurrent = options.maxConcurrent ?? defaultHashesAtOnce
    this.#maxWaiting = options.maxWaiting ?? defaultHashesWaiting
  }

  /** The number of hashes in progress and waiting. */
  get depth(): number {
    return this.#working + this.#waiting.length
  }

  /** Hashes a new password into a PHC string. @throws PasswordQueueFull */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes)
    return formatPhc(salt, await this.#derive(password, salt, passwordCost))
  }

  /**
   * Whether the password matches the `stored` hash. Without a stored hash it takes as long and is false, so that an
   * unknown user looks like a wrong password. A password longer than any that could be set is not compared.
   * @throws PasswordQueueFull
   */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    if (password.length > maxPasswordLength) return this.verify('', undefined)
    const [, memory, passes, parallelism, salt, digest] = phc.exec(stored ?? this.#dummyHash) ?? []
    if (salt === undefined || digest === undefined) return false
    const cost = { memoryKiB: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
    const expected = Buffer.from(digest, 'base64')
    const found = await this.#derive(password, Buffer.from(salt, 'base64'), cost, expected.length)
    return timingSafeEqual(found, expected) && stored !== undefined
  }

  async #derive(password: string, nonce: Buffer, cost: Cost, tagLength: number = hashBytes): Promise<Buffer> {
    await this.#acquireSlot()
    try {
      const message = Buffer.from(password.normalize('NFC'))
      const { memoryKiB: memory, passes, parallelism } = cost
      return Buffer.from(await hash('argon2id', { message, nonce, memory, passes, parallelism, tagLength }))
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

function formatPhc(salt: Buffer, digest: Buffer): string {
  const { memoryKiB, passes, parallelism } = passwordCost
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$${encodeBase64(salt)}$${encodeBase64(digest)}`
}

function encodeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
