import { type Log, withinTime } from '@gatehouse/kit'
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import { pause } from './pause.ts'

/**
 * Ends the reading and lets it begin again, with a consumer opened anew, after a while. With a cause it is logged, and a
 * `fault` until then.
 */
export type Interrupt = (delayMs: number, cause?: unknown) => void

/** Handles a message. */
export type HandleMessage = (message: JsMsg, interrupt: Interrupt) => Promise<void>

/** Options of {@link Reader}. */
export interface ReaderOptions {
  /** What is read, for the log. */
  readonly what: string
  /** Undefined where it is another process' to read: it is asked again after a while. */
  readonly openConsumer: () => Promise<Consumer | undefined>
  /** Calls back when the consumer is found missing. Answers how to stop that. */
  readonly onLost?: (lost: (error: Error) => void) => () => void
  readonly handle: HandleMessage
  /** Messages under way at once. */
  readonly concurrency: number
  readonly log: Log
}

const retryDelayMs = 5_000
/** How long a request for messages stands; a server that is silent for half of it twice is looked after. */
const pullMs = 10_000
const maxPauseMs = 5_000
const othersPauseMs = 500
const stopMs = 5_000

/**
 * Reads a consumer for as long as it isn't stopped. When the consumer or its stream disappears, or the server can't be
 * asked, that is logged and tried again with growing pauses; until it succeeds there is a `fault`.
 */
export class Reader {
  readonly #options: ReaderOptions
  readonly #stopping = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  readonly #done: Promise<void>
  #messages: ConsumerMessages | undefined
  #fault: Error | undefined
  /** Set where the reading was interrupted: after how long it goes on. */
  #interruptedMs: number | undefined

  constructor(options: ReaderOptions) {
    this.#options = options
    const unsubscribe = options.onLost?.((error) => this.#messages?.stop(error))
    this.#done = this.#run().finally(unsubscribe)
  }

  /** Why nothing is read at the moment. */
  get fault(): Error | undefined {
    return this.#fault
  }

  /** Takes no further message and resolves when those under way are done. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#messages?.stop()
    const { log, what } = this.#options
    await withinTime(stopMs, `the end of reading ${what}`, this.#done).catch((error: unknown) =>
      log.warn({ err: error }, `${what} was left without waiting any longer`),
    )
    await Promise.all(this.#underWay)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const { log, what } = this.#options
    for (let failures = 0; !signal.aborted; ) {
      try {
        const isOpen = await this.#open()
        failures = 0
        if (isOpen) await this.#read()
        else await pause(othersPauseMs, signal)
      } catch (error) {
        if (signal.aborted) return
        failures++
        this.#fault = error as Error
        log.error({ err: error, failures }, `${what} is not read; its consumer will be opened again`)
        await pause(Math.min(maxPauseMs, 100 * 2 ** failures) * (0.5 + Math.random() / 2), signal)
        // Those under way come before what is read anew.
        await Promise.all(this.#underWay)
      }
    }
  }

  async #open(): Promise<boolean> {
    const consumer = await this.#options.openConsumer()
    this.#fault = undefined
    if (!consumer) return false
    const { concurrency } = this.#options
    const options = { max_messages: concurrency, expires: pullMs, abort_on_missing_resource: true }
    this.#messages = await consumer.consume(options)
    if (this.#stopping.signal.aborted) this.#messages.stop()
    return true
  }

  /** Reads until it is stopped or interrupted, and then waits as long as that asks for. @throws where it ended otherwise */
  async #read(): Promise<void> {
    await this.#handleMessages()
    if (this.#interruptedMs !== undefined) await this.#waitInterrupted(this.#interruptedMs)
    else if (!this.#stopping.signal.aborted) throw new Error('the server ended it')
  }

  async #handleMessages(): Promise<void> {
    const { handle, concurrency, log } = this.#options
    const interrupt: Interrupt = (delayMs, cause) => {
      if (cause !== undefined) this.#reportInterruption(cause)
      this.#interruptedMs = Math.max(delayMs, this.#interruptedMs ?? 0)
      this.#messages?.stop()
    }
    for await (const message of this.#messages ?? []) {
      if (this.#interruptedMs !== undefined || this.#stopping.signal.aborted) break
      const done: Promise<void> = handle(message, interrupt)
        .catch((error: unknown) => {
          log.error({ err: error }, 'a message of the topic could not be handled and will be delivered again')
          message.nak(retryDelayMs)
        })
        .finally(() => this.#underWay.delete(done))
      this.#underWay.add(done)
      if (this.#underWay.size >= concurrency) await Promise.race(this.#underWay)
    }
  }

  /** The first of those that fail together is reported. */
  #reportInterruption(cause: unknown): void {
    const { log, what } = this.#options
    if (this.#fault === undefined) log.error({ err: cause }, `${what} is not read further; it will be tried again`)
    this.#fault ??= cause instanceof Error ? cause : new Error(String(cause))
  }

  async #waitInterrupted(delayMs: number): Promise<void> {
    await Promise.all(this.#underWay)
    await pause(delayMs, this.#stopping.signal)
    this.#interruptedMs = undefined
  }
}
