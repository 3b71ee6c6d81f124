import { Problem } from '@gatehouse/kit'
import type { NotificationStreamRules } from '../config/options.ts'

/** The places for open streams of notifications in this process. */
export class NotificationStreams {
  readonly rules: NotificationStreamRules
  readonly #byReader = new Map<string, number>()
  readonly #closing = new AbortController()
  readonly #open = new Set<Promise<void>>()

  constructor(rules: NotificationStreamRules) {
    this.rules = rules
  }

  /** Aborted when the process stops. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** @throws Problem 429 or 503 where there is no place for one more of this reader */
  admit(reader: string): void {
    const retry = { headers: { 'retry-after': '5' } }
    const { max, maxPerReader } = this.rules
    if (this.closing.aborted || this.#open.size >= max)
      throw new Problem(503, 'There are too many open streams here; ask again later.', retry)
    if ((this.#byReader.get(reader) ?? 0) >= maxPerReader)
      throw new Problem(429, `A caller may follow ${maxPerReader} notifications at once.`, retry)
  }

  /** Keeps a place until the stream has ended. */
  keep(reader: string, stream: Promise<void>): void {
    this.#byReader.set(reader, (this.#byReader.get(reader) ?? 0) + 1)
    const ended = stream.finally(() => {
      this.#open.delete(ended)
      const left = (this.#byReader.get(reader) ?? 1) - 1
      if (left > 0) this.#byReader.set(reader, left)
      else this.#byReader.delete(reader)
    })
    this.#open.add(ended)
  }

  /** Ends every stream and opens no more. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#open)
  }
}
