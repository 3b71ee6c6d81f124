import { type Log, Problem } from '@gatehouse/kit'
import type { ChangeReaderRules } from '../config/options.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { StateChanges } from '../store/store.ts'

/** What the waiting readers of a process need. */
export interface ChangeReadersOptions {
  readonly stateChanges: Pick<StateChanges, 'positions'>
  readonly rules: ChangeReaderRules
  /** How often the log is looked at while somebody waits and no hint comes, in milliseconds. */
  readonly idleMs: number
  readonly log: Log
  readonly metrics: Pick<NotifyMetrics, 'changeReaders'>
}

interface Waiting {
  readonly after: number
  readonly resolve: (isMore: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Under steady traffic readers are let go on this often, so that each reads a batch and not one change. */
const minPauseMs = 50

/**
 * The readers of this process that wait for state changes. One loop looks at the end of the log for all of them, at
 * once after a hint and else from time to time; without anybody waiting it rests.
 */
export class ChangeReaders {
  readonly #options: ChangeReadersOptions
  readonly #waiting = new Set<Waiting>()
  readonly #byClient = new Map<string, number>()
  readonly #closing = new AbortController()
  #count = 0
  #endPause: (() => void) | undefined
  #isHinted = false
  #loop: Promise<void> | undefined

  constructor(options: ChangeReadersOptions) {
    this.#options = options
  }

  /** Aborted when the process stops. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Takes one of the places there are to wait in. Answers how to leave it. @throws Problem 429 or 503 */
  enter(clientId: string): () => void {
    const { max, maxPerClient } = this.#options.rules
    const headers = { 'retry-after': '5' }
    if (this.closing.aborted || this.#count >= max)
      throw new Problem(503, 'Too many readers wait for events here; try again later.', { headers })
    const mine = this.#byClient.get(clientId) ?? 0
    if (mine >= maxPerClient)
      throw new Problem(429, `A client may wait for events ${maxPerClient} times at once.`, { headers })
    this.#byClient.set(clientId, mine + 1)
    this.#options.metrics.changeReaders.set(++this.#count)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#options.metrics.changeReaders.set(--this.#count)
      const left = (this.#byClient.get(clientId) ?? 1) - 1
      if (left > 0) this.#byClient.set(clientId, left)
      else this.#byClient.delete(clientId)
    }
  }

  /** Whether the log goes beyond `after`; waits for that until `signal` is aborted. @throws when the log can't be read */
  more(after: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.closing.aborted) return Promise.resolve(false)
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiting: Waiting = { after, resolve, reject }
    const stop = () => resolve(false)
    signal.addEventListener('abort', stop)
    this.#waiting.add(waiting)
    this.#loop ??= this.#watch().finally(() => {
      this.#loop = undefined
    })
    return promise.finally(() => {
      signal.removeEventListener('abort', stop)
      this.#waiting.delete(waiting)
    })
  }

  /** There may be more to read. */
  hint(): void {
    this.#isHinted = true
    this.#endPause?.()
  }

  /** Lets everybody go and nobody in. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const { resolve } of this.#waiting) resolve(false)
    this.#endPause?.()
    await this.#loop
  }

  async #watch(): Promise<void> {
    // Those that begin to wait in one turn of the event loop are answered by one look.
    await new Promise(setImmediate)
    while (this.#waiting.size > 0 && !this.closing.aborted) {
      this.#isHinted = false
      try {
        const { last } = await this.#options.stateChanges.positions()
        for (const { after, resolve } of this.#waiting) if (after < last) resolve(true)
      } catch (error) {
        this.#options.log.warn({ err: error }, 'the log of state changes could not be read; its readers are let go')
        for (const { reject } of this.#waiting) reject(error)
      }
      await this.#pause(minPauseMs, false)
      if (!this.#isHinted) await this.#pause(this.#options.idleMs, true)
    }
  }

  #pause(milliseconds: number, endsByHint: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, milliseconds)
      const endPause = () => (endsByHint || this.closing.aborted) && done()
      this.#endPause = endPause
      function done() {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
