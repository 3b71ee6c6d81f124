import { Worker } from 'node:worker_threads'
import type { BcryptJob, BcryptResult } from './bcrypt-thread.ts'
import type { HashFormat } from './format.ts'

const minCost = 4
const maxCost = 14
const pattern = /^\$2([a-z]?)\$(\d\d)\$([./A-Za-z0-9]{53})$/
const variants: ReadonlySet<string> = new Set(['a', 'b', 'y'])

/**
 * bcrypt: `$2a$`, `$2b$`, and `$2y$`, which is the same as `$2b$`. It reads the first 72 bytes of a password; the hash that
 * replaces it after the first sign-in reads all of them.
 */
export const bcryptFormat: HashFormat = (text) => {
  if (!text.startsWith('$2')) return undefined
  const [, variant, cost, rest] = pattern.exec(text) ?? []
  if (variant === undefined) return { fault: 'a bcrypt hash must have 60 characters: $2b$<cost>$<salt and digest>' }
  if (!variants.has(variant)) return { fault: `bcrypt must be of the variant 2a, 2b or 2y, not 2${variant}` }
  if (Number(cost) < minCost || Number(cost) > maxCost)
    return { fault: `bcrypt must have a cost of ${minCost} to ${maxCost}, the hash names ${Number(cost)}` }
  const hash = `$2b$${cost}$${rest}`
  return { hash: { matches: (password) => thread.compare(password.toString(), hash) } }
}

/** Longer than the most expensive comparison takes, several of them in a row included. */
const timeoutMs = 60_000

interface Pending {
  readonly resolve: (matches: boolean) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** The thread that compares, one comparison after the other; it starts with the first. `PasswordHasher` bounds their number. */
class BcryptThread {
  #worker: Worker | undefined
  #lastId = 0
  readonly #pending = new Map<number, Pending>()

  compare(password: string, hash: string): Promise<boolean> {
    const worker = this.#worker ?? this.#start()
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(new Error('a bcrypt comparison took too long')), timeoutMs)
      this.#pending.set(id, { resolve, reject, timer })
      worker.postMessage({ id, password, hash } satisfies BcryptJob)
    })
  }

  #start(): Worker {
    const worker = new Worker(new URL('./bcrypt-thread.ts', import.meta.url))
    worker.on('message', ({ id, matches }: BcryptResult) => {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      clearTimeout(pending?.timer)
      pending?.resolve(matches)
    })
    worker.on('error', (error) => this.#fail(error as Error))
    // After the listeners, which would keep the process alive.
    worker.unref()
    this.#worker = worker
    return worker
  }

  /** Ends the thread and what it was asked for; the next comparison starts another. */
  #fail(error: Error): void {
    void this.#worker?.terminate()
    this.#worker = undefined
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer)
      reject(error)
    }
    this.#pending.clear()
  }
}

const thread = new BcryptThread()
