import { type Clock, type Log, withinTime } from '@gatehouse/kit'
import type { Decision } from '@gatehouse/limiter'
import { parseCallerKey } from './caller-key.ts'
import type { CallerStep, History, LabelStep, Steps } from './history.ts'
import { MemoryHistory } from './memory-history.ts'
import { type Dimension, isEmptyPeriod, type Period, type Rejection } from './period.ts'
import { type LimitedRequest, maxRejections, Recorder } from './recorder.ts'

/** How often what was recorded is added to the history, in milliseconds. */
const flushMs = 10_000
/** Periods that wait for a shared history that is slow; of more the oldest is dropped. */
const maxWaiting = 6
/** How long an operator waits for a shared history, in milliseconds; then this process answers for itself. */
const readTimeoutMs = 2_000
/** How long the shared history may take for a period, in milliseconds. */
const addTimeoutMs = 5_000
const stopTimeoutMs = 500

/** What {@link Activity} adds decisions to. */
export interface ActivityOptions {
  readonly clock: Clock
  readonly log: Log
  /** The history of all processes. Default: that of this process alone. */
  readonly history?: History | undefined
  /** Called for each period that the shared history lost. */
  readonly onDropped?: () => void
}

/** What was read, and whether it is that of all processes. */
export interface Reading<Value> {
  readonly value: Value
  readonly scope: 'all' | 'process'
  /** How long the history reaches back, in milliseconds. */
  readonly maxAgeMs: number
}

/**
 * Who was allowed and rejected, in the last days. Requests never wait for it: decisions are recorded in memory, and added
 * to the history every ten seconds. What a shared history does not accept is dropped and counted, never sent twice.
 */
export class Activity {
  readonly #options: ActivityOptions
  readonly #own = new MemoryHistory()
  readonly #recorder: Recorder
  readonly #timer: NodeJS.Timeout
  readonly #waiting: Period[] = []
  #publishing: Promise<void> | undefined
  #isLosing = false

  constructor(options: ActivityOptions) {
    this.#options = options
    this.#recorder = new Recorder(options.clock.now())
    this.#timer = setInterval(() => this.flush(), flushMs).unref()
  }

  /** Records the decision on a request. */
  record(decision: Decision, request: LimitedRequest): void {
    this.#recorder.record(decision, request)
  }

  /** Adds what was recorded to the history. Resolves when the shared one has it, or has lost it. */
  flush(): Promise<void> {
    const period = this.#recorder.take(this.#options.clock.now())
    if (isEmptyPeriod(period)) return this.#publishing ?? Promise.resolve()
    void this.#own.add(period)
    if (this.#options.history === undefined) return Promise.resolve()
    this.#waiting.push(period)
    if (this.#waiting.length > maxWaiting) {
      this.#waiting.shift()
      this.#options.onDropped?.()
    }
    this.#publishing ??= this.#publish(this.#options.history)
    return this.#publishing
  }

  /** Stops the timer, and waits half a second at most for the shared history. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await withinTime(stopTimeoutMs, 'the last addition to the history', this.flush()).catch(() => {})
  }

  /** Callers by the steps in which they were counted; the last step is what is not in the history yet. */
  callers(outcome: 'allowed' | 'rejected', steps: Steps): Promise<Reading<CallerStep[]>> {
    return this.#read(
      (history) => history.callers(outcome, steps),
      ({ at, [outcome]: { entries, missed } }) => ({
        at,
        callers: entries.map(({ key, ...counted }) => ({ ...parseCallerKey(key), ...counted })),
        missed,
      }),
    )
  }

  /** Labels by the steps in which they were counted; the last step is what is not in the history yet. */
  labels(by: Dimension, steps: Steps): Promise<Reading<LabelStep[]>> {
    return this.#read(
      (history) => history.labels(by, steps),
      ({ at, labels }) => ({ at, labels: labels.filter((label) => label.by === by) }),
    )
  }

  /** The last rejections, newest first. */
  async rejections(): Promise<Reading<Rejection[]>> {
    const { value, ...reading } = await this.#read(
      async (history) => [await history.rejections()],
      ({ rejections }) => rejections.toReversed(),
    )
    const newest = value.flat().sort((one, other) => other.at - one.at)
    return { ...reading, value: newest.slice(0, maxRejections) }
  }

  /** Reads the shared history, or that of this process while the shared one is unavailable. */
  async #read<Step>(
    read: (history: History) => Promise<Step[]>,
    recent: (period: Period) => Step,
  ): Promise<Reading<Step[]>> {
    const { history } = this.#options
    const current = this.#recorder.current()
    if (history !== undefined) {
      const waiting = [...this.#waiting, current].map(recent)
      const steps = await withinTime(readTimeoutMs, 'a read of the history', read(history)).catch(() => undefined)
      if (steps !== undefined) return { value: [...steps, ...waiting], scope: 'all', maxAgeMs: history.maxAgeMs }
    }
    const steps = await read(this.#own)
    return { value: [...steps, recent(current)], scope: 'process', maxAgeMs: this.#own.maxAgeMs }
  }

  /** One period after another, each once: one whose fate is unknown would be counted twice. */
  async #publish(history: History): Promise<void> {
    for (let period = this.#waiting.shift(); period !== undefined; period = this.#waiting.shift())
      try {
        await withinTime(addTimeoutMs, 'an addition to the history', history.add(period))
        this.#isLosing = false
      } catch (error) {
        this.#options.onDropped?.()
        if (!this.#isLosing) this.#options.log.warn({ err: error }, 'the history of limits is not shared at the moment')
        this.#isLosing = true
      }
    this.#publishing = undefined
  }
}
